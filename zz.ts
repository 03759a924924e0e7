import { lockRows } from "./test/bench/lockRows.ts"
process.env["KIWI_KEYCHAIN"] = "off"
console.log(JSON.stringify(await lockRows(false), null, 1))

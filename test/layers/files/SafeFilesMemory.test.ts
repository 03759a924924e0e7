import { Effect } from "effect"
import * as SafeFilesMemory from "../../../src/layers/files/SafeFilesMemory.ts"
import { contract } from "../../services/files/SafeFiles.contract.ts"

let next = 0
contract("SafeFilesMemory", SafeFilesMemory.layer, Effect.sync(() => `/memory/${next++}`))

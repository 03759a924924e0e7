import { Effect } from "effect"
import * as SafeFilesMemory from "../../../src/layers/workspace/SafeFilesMemory.ts"
import { contract } from "../../services/workspace/SafeFiles.contract.ts"

let next = 0
contract("SafeFilesMemory", SafeFilesMemory.layer, Effect.sync(() => `/memory/${next++}`))

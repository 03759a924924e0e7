import { Effect } from "effect"
import * as ProcessLockMemory from "../../../src/layers/workspace/ProcessLockMemory.ts"
import { contract } from "./ProcessLock.contract.ts"

contract("ProcessLockMemory", ProcessLockMemory.layer, Effect.succeed("/nowhere"))

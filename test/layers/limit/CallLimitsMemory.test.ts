import { Effect } from "effect"
import * as CallLimitsMemory from "../../../src/layers/limit/CallLimitsMemory.ts"
import { contract } from "./CallLimits.contract.ts"

contract("CallLimitsMemory", Effect.succeed(CallLimitsMemory.layer))

import { Effect } from "effect"
import * as InterventionsMemory from "../../../src/layers/limit/InterventionsMemory.ts"
import { contract } from "./Interventions.contract.ts"

contract("InterventionsMemory", Effect.succeed(InterventionsMemory.layer))

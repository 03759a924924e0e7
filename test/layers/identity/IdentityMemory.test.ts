import * as IdentityMemory from "../../../src/layers/identity/IdentityMemory.ts"
import { contract } from "../../services/identity/Identity.contract.ts"

contract("IdentityMemory", IdentityMemory.layer)

import * as SignerTrustMemory from "../../../src/layers/trust/SignerTrustMemory.ts"
import { contract } from "../../services/trust/SignerTrust.contract.ts"

contract("SignerTrustMemory", SignerTrustMemory.layer)

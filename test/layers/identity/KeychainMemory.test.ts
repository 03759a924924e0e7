import * as KeychainMemory from "../../../src/layers/identity/KeychainMemory.ts"
import { contract } from "../../services/identity/Keychain.contract.ts"

contract("KeychainMemory", KeychainMemory.layer)

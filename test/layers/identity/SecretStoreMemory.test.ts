import * as SecretStoreMemory from "../../../src/layers/identity/SecretStoreMemory.ts"
import { contract } from "../../services/identity/SecretStore.contract.ts"

contract("SecretStoreMemory", SecretStoreMemory.layer)

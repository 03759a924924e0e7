import { contract } from "./LockfileStore.contract.ts"
import { world } from "./lockWorld.ts"

contract("LockfileStoreFile", world)

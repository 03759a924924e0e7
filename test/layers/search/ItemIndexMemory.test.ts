import * as ItemIndexMemory from "../../../src/layers/search/ItemIndexMemory.ts"
import { contract } from "./ItemIndex.contract.ts"

contract("ItemIndexMemory", () => ItemIndexMemory.layer)

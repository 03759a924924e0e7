import * as ItemHistoryMemory from "../../../src/layers/integrity/ItemHistoryMemory.ts"
import { contract } from "../../services/integrity/ItemHistory.contract.ts"

contract("ItemHistoryMemory", ItemHistoryMemory.layer)

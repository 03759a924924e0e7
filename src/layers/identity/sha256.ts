// The one digest of Kiwi, in hex: of items, control files, entries of the audit, keys.
import { hash } from "node:crypto"

export const sha256 = (data: Uint8Array | string): string => hash("sha256", data, "hex")

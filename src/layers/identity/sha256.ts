// Kiwi's only digest, in hex: of items, control files, audit entries, keys.
import { hash } from "node:crypto"

export const sha256 = (data: Uint8Array | string): string => hash("sha256", data, "hex")

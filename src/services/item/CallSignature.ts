import type { Directive, Tool } from "./Item.ts"
export declare const callSignature: (item: Directive | Tool) => string

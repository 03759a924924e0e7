// What the builtins that work on locks are made of, for kernels in which nobody calls one.
import { Layer, Option } from "effect"
import { VerifiedCopies } from "../../src/services/integrity/VerifiedCopies.ts"
import { ItemStore } from "../../src/services/item/ItemStore.ts"
import { Lockfiles } from "../../src/services/lockfile/Lockfiles.ts"

export const noLocks = Layer.mergeAll(
  Layer.mock(ItemStore, { rootOf: () => Option.none() }),
  Layer.mock(Lockfiles, {}),
  Layer.mock(VerifiedCopies, {})
)

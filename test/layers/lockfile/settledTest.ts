import { it } from "@effect/vitest"
import { Effect } from "effect"
import type { Scope } from "effect"
import * as TestClock from "effect/testing/TestClock"
import type { LockfileStore } from "../../../src/services/lockfile/LockfileStore.ts"
import { open, world } from "./lockWorld.ts"
import type { World } from "./lockWorld.ts"

/** A test over a store in whose time the files that it finds are old enough to be believed. */
export const settledTest = <A, E>(
  title: string,
  body: (made: World, store: LockfileStore["Service"]) => Effect.Effect<A, E, Scope.Scope>
) =>
  it.effect(title, () =>
    Effect.gen(function*() {
      const made = yield* world
      yield* TestClock.setTime(Date.now() + 60_000)
      return yield* body(made, (yield* open(made)).store)
    }))

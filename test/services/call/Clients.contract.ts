// What every store of clients does.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import type { Layer } from "effect"
import { type ClientRole, Clients } from "../../../src/services/call/Clients.ts"
import { agree } from "../../support/trustWorld.ts"

export const add = (name: string, role: ClientRole = "attended") =>
  Effect.gen(function*() {
    const clients = yield* Clients
    return yield* clients.add(name, role, agree(yield* clients.proposeAdd(name, role)))
  })

export const contract = (backend: string, layer: Layer.Layer<Clients, unknown>) =>
  describe(backend, () => {
    it.effect("knows a client by its token and by its name, until it is removed", () =>
      Effect.gen(function*() {
        const clients = yield* Clients
        const laptop = yield* add("laptop")
        const nightly = yield* add("nightly", "unattended")
        assert.strictEqual(Buffer.from(Redacted.value(laptop), "base64url").length, 32)
        assert.include(yield* clients.withToken(laptop), { name: "laptop", unattended: false })
        assert.include(yield* clients.withToken(nightly), { name: "nightly", unattended: true })
        assert.include(yield* clients.named("nightly"), { unattended: true })
        for (const token of ["", "x", Redacted.value(laptop).slice(1), `${Redacted.value(laptop)}A`]) {
          assert.isUndefined(yield* clients.withToken(Redacted.make(token)))
        }
        yield* clients.remove("laptop", agree(yield* clients.proposeRemove("laptop")))
        assert.isUndefined(yield* clients.withToken(laptop))
        assert.isUndefined(yield* clients.named("laptop"))
        assert.deepStrictEqual((yield* clients.list).map((one) => one.name), ["nightly"])
      }).pipe(Effect.provide(layer)))

    it.effect("shows no token and no hash of one", () =>
      Effect.gen(function*() {
        const clients = yield* Clients
        yield* add("laptop")
        assert.deepStrictEqual((yield* clients.list).map(Object.keys), [["name", "unattended", "added"]])
      }).pipe(Effect.provide(layer)))

    it.effect("does only what a person agreed to", () =>
      Effect.gen(function*() {
        const clients = yield* Clients
        const attended = agree(yield* clients.proposeAdd("a", "attended"))
        assert.strictEqual((yield* Effect.flip(clients.add("a", "unattended", attended)))._tag, "HumanRequired")
        assert.strictEqual((yield* Effect.flip(clients.add("b", "attended", attended)))._tag, "HumanRequired")
        yield* clients.add("a", "attended", attended)
        assert.strictEqual((yield* Effect.flip(clients.add("a", "attended", attended)))._tag, "ClientNameRefused")
        assert.strictEqual((yield* Effect.flip(clients.remove("a", attended)))._tag, "HumanRequired")
        assert.strictEqual((yield* Effect.flip(clients.proposeRemove("b")))._tag, "ClientUnknown")
      }).pipe(Effect.provide(layer)))

    for (const name of ["", " ", "a b", "-x", "../x", "x".repeat(49), "a\n", "ä", "a/b", "con:"]) {
      it.effect(`refuses the name ${JSON.stringify(name)}`, () =>
        Effect.gen(function*() {
          const clients = yield* Clients
          const error = yield* Effect.flip(clients.proposeAdd(name, "attended"))
          assert.strictEqual(error._tag, "ClientNameRefused")
        }).pipe(Effect.provide(layer)))
    }

    it.effect("gives a name to one of several that ask for it at once", () =>
      Effect.gen(function*() {
        const clients = yield* Clients
        const act = agree(yield* clients.proposeAdd("one", "attended"))
        const answers = yield* Effect.forEach(
          Array.from({ length: 5 }),
          () => Effect.result(clients.add("one", "attended", act)),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(answers.filter(({ _tag }) => _tag === "Success").length, 1)
        assert.strictEqual((yield* clients.list).length, 1)
      }).pipe(Effect.provide(layer)))
  })

import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import type { MemoryFile } from "../../../src/layers/item/ItemStoreMemory.ts"
import type { Program } from "../../../src/layers/process/ChildProcessesMemory.ts"
import { codeOf, innermost } from "../../../src/services/error/KiwiError.ts"
import { Signatures } from "../../../src/services/integrity/Signatures.ts"
import { Lockfiles } from "../../../src/services/lockfile/Lockfiles.ts"
import { agree } from "../../support/trustWorld.ts"
import { call, kernel } from "./calls.ts"

/** How a random chain is made: how many runtimes are between the tool and the primitive, and what they say. */
const shapeWith = (fewest: number) =>
  Schema.Struct({
    links: Schema.Int.check(Schema.isBetween({ minimum: fewest, maximum: 4 })),
    minors: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 30 }))).check(
      Schema.isMinLength(6),
      Schema.isMaxLength(6)
    ),
    folder: Schema.Boolean,
    texts: Schema.Array(Schema.String.check(Schema.isPattern(/^[a-z]{3,20}$/))).check(
      Schema.isMinLength(6),
      Schema.isMaxLength(6)
    )
  })
const Shape = shapeWith(0)
const LongShape = shapeWith(2)
type Shape = typeof Shape.Type

const Place = Schema.Struct({
  file: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000 })),
  offset: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100_000 })),
  flip: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 255 }))
})

const link = (index: number) => `tools/chain/link${index}.yaml`

const linkText = (shape: Shape, index: number, next: string, version = `1.${shape.minors[index]}.${index}`) =>
  JSON.stringify({
    version,
    tool_type: "runtime",
    executor_id: next,
    validation: { child_schemas: [{ match: {} }] },
    description: shape.texts[index],
    config: { env: { [`LINK_${index}`]: shape.texts[index] ?? "" } }
  })

const nextOf = (shape: Shape, index: number) => index + 1 < shape.links ? `link${index + 1}` : "subprocess"

const leafText = (shape: Shape) =>
  JSON.stringify({
    version: `2.${shape.minors[5]}.0`,
    tool_type: "script",
    executor_id: shape.links === 0 ? "subprocess" : "link0",
    config: {
      command: "effect",
      ...(shape.folder ? { runtime_args: ["${TOOL_FILE}"] } : {}),
      args: ["--", shape.texts[5] ?? ""]
    },
    ...(shape.folder ? { entrypoint: "main.sh" } : {})
  })

/** The files of a chain, unsigned. Every link's text is unlike every other's. */
const filesOf = (shape: Shape): Map<string, MemoryFile> =>
  new Map<string, MemoryFile>([
    ...(shape.folder
      ? [
        ["tools/chain/leaf/tool.yaml", leafText(shape)],
        ["tools/chain/leaf/main.sh", `echo ${shape.texts[0]}`],
        ["tools/chain/leaf/data/a.txt", `a ${shape.texts[1]}`],
        ["tools/chain/leaf/data/b.txt", `b ${shape.texts[2]}`]
      ] as const
      : [["tools/chain/leaf.yaml", leafText(shape)]] as const),
    ...Array.from({ length: shape.links }, (_, i) => [link(i), linkText(shape, i, nextOf(shape, i))] as const)
  ])

const bytesOf = (file: MemoryFile | undefined): Uint8Array =>
  typeof file === "string" ? Buffer.from(file) : file instanceof Uint8Array ? file : bytesOf(file?.content ?? "")

/** Signs everything that is not signed as it is; the locks stay as they are. */
const signAll = Effect.gen(function*() {
  const signatures = yield* Signatures
  const plan = yield* signatures.plan({ id: "**", tier: "project", changedOnly: true })
  return { plan, signed: yield* signatures.sign(plan, agree(plan.request)) }
})

const signAndLock = Effect.gen(function*() {
  const lockfiles = yield* Lockfiles
  const { plan, signed } = yield* signAll
  const { tools } = yield* lockfiles.lockSigned(signed, agree(plan.request))
  return [...tools.values()]
})

/** A kernel over these files whose one program only counts that it ran. */
const world = (shape: Shape) => {
  const files = filesOf(shape)
  const seen = { runs: 0 }
  const effect: Program = () =>
    Effect.sync(() => {
      seen.runs++
      return { stdout: "done" }
    })
  const run = Effect.result(call("leaf", {}, { lockfileMode: "strict" }))
  return { files, seen, run, layer: kernel({ project: files, signatures: "checked", programs: { effect } }) }
}

/** Locks a chain, sees it run, changes it, and sees that it is refused before anything runs. */
const refusedAfter = (
  shape: Shape,
  change: (files: Map<string, MemoryFile>) => boolean,
  options: { readonly signedAgain: boolean }
) => {
  const { files, layer, run, seen } = world(shape)
  return Effect.gen(function*() {
    for (const lock of yield* signAndLock) assert.strictEqual(lock._tag, "Locked")
    const before = yield* run
    assert.isTrue(Result.isSuccess(before), JSON.stringify(before))
    assert.strictEqual(seen.runs, 1)
    if (!change(files)) return undefined
    if (options.signedAgain) yield* Effect.result(signAll)
    const after = yield* run
    assert.isTrue(Result.isFailure(after), "what was changed ran")
    assert.strictEqual(seen.runs, 1)
    return Result.isFailure(after) ? codeOf(innermost(after.failure)) : undefined
  }).pipe(Effect.provide(layer))
}

const swap = (files: Map<string, MemoryFile>, a: string, b: string): boolean => {
  const [left, right] = [files.get(a), files.get(b)]
  if (left === undefined || right === undefined || Buffer.from(bytesOf(left)).equals(bytesOf(right))) return false
  files.set(a, right)
  files.set(b, left)
  return true
}

describe("what is locked is what runs", () => {
  it.effect.prop(
    "any single byte that differs in any file of a locked chain is refused",
    { shape: Shape, place: Place },
    ({ place, shape }) =>
      refusedAfter(shape, (files) => {
        const paths = [...files.keys()].filter((path) => path.startsWith("tools/"))
        const path = paths[place.file % paths.length]!
        const bytes = Uint8Array.from(bytesOf(files.get(path)))
        const at = place.offset % bytes.length
        bytes[at] = bytes[at]! ^ place.flip
        files.set(path, bytes)
        return true
      }, { signedAgain: false }),
    { arbitrary: { runs: 100 } }
  )

  it.effect.prop(
    "a text that differs in one letter is refused when it is signed again",
    { shape: Shape, place: Place },
    ({ place, shape }) =>
      Effect.gen(function*() {
        const code = yield* refusedAfter(shape, (files) => {
          const paths = [...files.keys()].filter((path) => path.startsWith("tools/") && !path.endsWith(".kiwi-sig"))
          const path = paths[place.file % paths.length]!
          const text = Buffer.from(bytesOf(files.get(path))).toString("utf8")
          const word = shape.texts.find((candidate) => text.includes(candidate))
          if (word === undefined) return false
          files.set(path, text.replace(word, `${word}x`))
          return true
        }, { signedAgain: true })
        if (code !== undefined) assert.strictEqual(code, "LOCK_MISMATCH")
      }),
    { arbitrary: { runs: 40 } }
  )

  it.effect.prop("two links that changed places are refused, signed again or not", {
    shape: LongShape,
    signedAgain: Schema.Boolean
  }, ({ shape, signedAgain }) =>
    refusedAfter(shape, (files) => {
      const leaf = shape.folder ? "tools/chain/leaf/tool.yaml" : "tools/chain/leaf.yaml"
      files.set(leaf, leafText({ ...shape }).replace("link0", "link1"))
      files.set(link(1), linkText(shape, 1, "link0"))
      files.set(link(0), linkText(shape, 0, nextOf(shape, 1)))
      return true
    }, { signedAgain }), { arbitrary: { runs: 40 } })

  it.effect.prop("two versions that changed places are refused, signed again or not", {
    shape: LongShape,
    signedAgain: Schema.Boolean
  }, ({ shape, signedAgain }) =>
    refusedAfter(shape, (files) => {
      files.set(link(0), linkText(shape, 0, nextOf(shape, 0), `1.${shape.minors[1]}.1`))
      files.set(link(1), linkText(shape, 1, nextOf(shape, 1), `1.${shape.minors[0]}.0`))
      return true
    }, { signedAgain }), { arbitrary: { runs: 40 } })

  it.effect.prop("two files that changed places are refused, signed again or not", {
    shape: Shape,
    signedAgain: Schema.Boolean
  }, ({ shape, signedAgain }) =>
    refusedAfter(shape, (files) =>
      shape.folder
        ? swap(files, "tools/chain/leaf/data/a.txt", "tools/chain/leaf/data/b.txt")
        : shape.links >= 2 && swap(files, link(0), link(1)), { signedAgain }), { arbitrary: { runs: 40 } })
})

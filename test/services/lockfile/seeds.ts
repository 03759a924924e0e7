// Locks built from small generated values: patterns such as 64 hex digits are too narrow to be generated themselves.
import { Schema } from "effect"
import { sha256 } from "../../../src/layers/identity/sha256.ts"
import { Tier } from "../../../src/services/item/ItemId.ts"
import type { Frozen, LockedLink, Lockfile } from "../../../src/services/lockfile/Lockfile.ts"
import { frozenOf } from "../../layers/lockfile/locks.ts"

const Small = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 }))

const Word = Schema.Literals(["a", "b2", "x_y", "read-all", "0", "7up"])
const Words = Schema.NonEmptyArray(Word).check(Schema.isMaxLength(3))

/** Ids of one to three words. */
export const Id = Words
export const idOf = (words: typeof Id.Type): string => words.join(".")

const Identifier = Schema.Literals(["0", "1", "10", "a", "rc", "abcdef012345", "a33a40231817", "-", "x-y"])
const Identifiers = Schema.Array(Identifier).check(Schema.isMaxLength(3))

/** Semantic versions, also such as end like a variant. */
export const Version = Schema.Struct({
  core: Schema.Tuple([Small, Small, Small]),
  prerelease: Identifiers,
  build: Identifiers
})
export const versionOf = ({ build, core, prerelease }: typeof Version.Type): string =>
  core.join(".") + (prerelease.length === 0 ? "" : `-${prerelease.join(".")}`) +
  (build.length === 0 ? "" : `+${build.join(".")}`)

/** Categories of one to eight folders. */
export const Category = Schema.NonEmptyArray(Schema.Literals(["a", "Math", "x.y", "z_1", "tools"])).check(
  Schema.isMaxLength(8)
)
export const categoryOf = (folders: typeof Category.Type): string => folders.join("/")

export const Link = Schema.Struct({ id: Id, version: Version, content: Small, tier: Tier, path: Small })
export const Links = Schema.NonEmptyArray(Link).check(Schema.isMaxLength(5))

export const linksOf = (seeds: typeof Links.Type): readonly [LockedLink, ...ReadonlyArray<LockedLink>] => {
  const [leaf, ...rest] = seeds.map((seed, i): LockedLink => ({
    tool_id: idOf(seed.id),
    version: versionOf(seed.version),
    integrity: sha256(`${seed.content}`),
    executor: seeds[i + 1] === undefined ? null : idOf(seeds[i + 1]!.id),
    tier: seed.tier,
    path: `folder/file_${seed.path}.py`
  }))
  return [leaf!, ...rest]
}

const Names = Schema.Array(Schema.Literals(["A", "B_2", "git", "a_b"])).check(Schema.isMaxLength(3))

export const Extras = Schema.Struct({
  interpreter: Schema.NullOr(Schema.Struct({
    variable: Schema.Literals(["KIWI_PYTHON", "KIWI_NODE"]),
    kind: Schema.Literals(["system", "rbenv"]),
    version: Schema.NullOr(Schema.Literals(["3.12.1", "3.13.0"]))
  })),
  commands: Names,
  variables: Names,
  packages: Schema.NullOr(
    Schema.Array(Schema.Struct({
      name: Schema.Literals(["requests", "@scope/pkg"]),
      version: Schema.Literals(["1.0.0", "2.0.0"]),
      hash: Schema.NullOr(Schema.Literals(["sha256:1a", "sha256:2b"]))
    })).check(Schema.isMaxLength(2))
  )
})

export const frozenFrom = (links: typeof Links.Type, extras: typeof Extras.Type, category = "folder"): Frozen =>
  frozenOf(linksOf(links), {
    category,
    runtime: { interpreter: extras.interpreter, commands: extras.commands, variables: extras.variables },
    dependencies: extras.packages === null ? null : { ecosystem: "python", packages: extras.packages }
  })

export const lockfileFrom = (frozen: Frozen): Lockfile => ({
  lockfile_version: 1,
  generated_at: "2026-11-22T10:00:00.000Z",
  root: frozen.root,
  resolved_chain: frozen.resolved_chain,
  chain_hash: frozen.chain_hash,
  runtime: frozen.runtime,
  dependencies: frozen.dependencies,
  registry: null
})

// The filesystem tools. Each says first which real path it would touch, and then opens exactly that.
import { Effect, Result, Schema } from "effect"
import type { Access, PathAccess } from "../../services/capability/Access.ts"
import type { KiwiError } from "../../services/error/KiwiError.ts"
import { SafeFiles } from "../../services/files/SafeFiles.ts"
import { editText } from "../../services/filesystem/editText.ts"
import { EditUnclear, FileAbsent, PathUnusable } from "../../services/filesystem/fileErrors.ts"
import type { Builtin, BuiltinHandlers, PreviewInput } from "../../services/primitive/Builtins.ts"
import { decodeParameters } from "../../services/primitive/Builtins.ts"
import type { AccessInput, PrimitiveInput } from "../../services/primitive/Primitive.ts"
import { fromBase64 } from "../../services/primitive/requestBody.ts"
import {
  absent,
  allowed,
  below,
  change,
  type FileServices,
  type Found,
  joined,
  locate,
  mayRead,
  notAFile,
  placeOf
} from "./places.ts"
import { alreadyThere, previewEdit, previewWrite } from "./previews.ts"
import { longestPage, readBytes, readPage, readWhole } from "./readText.ts"
import { globFilter, passedOver, searchFiles } from "./searchFiles.ts"

/** Opaque to paths: their length is bounded, and everything else is checked by looking. */
const PathText = Schema.NonEmptyString.check(Schema.isMaxLength(4_096))
const count = (most: number, least = 0) =>
  Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: least, maximum: most })))
const flag = Schema.optionalKey(Schema.Boolean)
const Encoding = Schema.optionalKey(Schema.Literals(["text", "base64"]))

/** A tool from its parameters, what it would touch, and what it does. */
const builtin = <A>(
  parameters: Schema.ConstraintDecoder<A>,
  accesses: (parameters: A) => Effect.Effect<ReadonlyArray<Access>, KiwiError, FileServices>,
  run: (parameters: A, input: PrimitiveInput) => Effect.Effect<Schema.Json, KiwiError, FileServices>,
  preview?: (parameters: A, input: PreviewInput) => Effect.Effect<string, KiwiError, FileServices>,
  contents?: ReadonlyArray<string>
): Builtin<FileServices> => ({
  ...(contents === undefined ? {} : { contents }),
  ...(preview === undefined ? {} : {
    preview: (input: PreviewInput) =>
      Effect.flatMap(decodeParameters(parameters, input), (given) => preview(given, input))
  }),
  accesses: (input: AccessInput) => Effect.flatMap(decodeParameters(parameters, input), accesses),
  run: (input) =>
    decodeParameters(parameters, input).pipe(
      Effect.flatMap((given) => run(given, input)),
      Effect.map((data) => ({ data, metadata: {} }))
    )
})

const reading = ({ path = "." }: { readonly path?: string }) =>
  Effect.map(locate(path, "fs.read"), ({ access }) => [access])

const mostLines = 10_000

const read = builtin(
  Schema.Struct({
    path: PathText,
    offset: count(Number.MAX_SAFE_INTEGER),
    limit: count(1_048_576, 1),
    encoding: Encoding
  }),
  reading,
  Effect.fnUntraced(function*({ encoding, limit, offset = 0 }, input) {
    const [place] = yield* allowed(input, "fs.read")
    const files = yield* SafeFiles
    const found = yield* files.stat(place.root, place.path)
    if (found === undefined) return yield* absent(place)
    if (found.kind === "folder") return yield* notAFile(place.shown)
    if (encoding === "base64") {
      const { bytes, stat } = yield* readBytes(place, offset, Math.min(limit ?? longestPage, longestPage))
      const next = offset + bytes.length
      return {
        path: place.shown,
        base64: bytes.toString("base64"),
        offset,
        length: bytes.length,
        total: stat.bytes,
        next: next < stat.bytes ? next : null
      }
    }
    const page = yield* readPage(place, offset, Math.min(limit ?? 2_000, mostLines))
    return {
      path: place.shown,
      text: page.text,
      offset,
      lines: page.lines,
      total: page.total ?? null,
      next: page.next ?? null,
      bytes: page.size,
      ...(page.cut ? { cut: "The last line is longer than a page: encoding base64 reads the rest of it" } : {})
    }
  })
)

const changing = Effect.fnUntraced(function*(path: string) {
  const { access } = yield* locate(path, "fs.write")
  return yield* change(access)
})

const contentOf = Effect.fnUntraced(function*(path: string, content: string, encoding: "text" | "base64" | undefined) {
  if (encoding !== "base64") return new TextEncoder().encode(content)
  const bytes = fromBase64(content)
  if (Result.isSuccess(bytes)) return bytes.success
  return yield* new PathUnusable({
    path,
    issue: `its content ${bytes.failure}`,
    hint: "Send base64, or leave encoding out"
  })
})

const write = builtin(
  Schema.Struct({ path: PathText, content: Schema.String, overwrite: flag, encoding: Encoding }),
  ({ path }) => changing(path),
  Effect.fnUntraced(function*({ content, encoding, overwrite = true }, input) {
    const [place] = yield* allowed(input, "fs.write")
    const files = yield* SafeFiles
    const bytes = yield* contentOf(place.shown, content, encoding)
    const before = yield* Effect.orElseSucceed(files.stat(place.root, place.path), () => undefined)
    if (before?.kind === "folder") return yield* notAFile(place.shown)
    yield* files.write(place.root, place.path, bytes, overwrite ? {} : { exclusive: true })
    return {
      path: place.shown,
      bytes: bytes.length,
      created: before === undefined,
      ...(before !== undefined && before.names > 1 ? { note: otherNames(before.names) } : {})
    }
  }),
  (given, input) => Effect.andThen(contentOf(given.path, given.content, given.encoding), previewWrite(given, input)),
  ["content"]
)

const otherNames = (names: number): string =>
  `The file had ${names} names (hard links). The others still have the old content`

const edit = builtin(
  Schema.Struct({ path: PathText, old: Schema.NonEmptyString, new: Schema.String }),
  ({ path }) => changing(path),
  Effect.fnUntraced(function*({ new: next, old }, input) {
    const [place] = yield* allowed(input, "fs.write")
    const files = yield* SafeFiles
    const found = yield* files.stat(place.root, place.path)
    if (found?.kind === "folder") return yield* notAFile(place.shown)
    const { text, version } = yield* readWhole(place)
    const edited = editText(text, old, next)
    if (Result.isFailure(edited)) return yield* new EditUnclear({ path: place.shown, ...edited.failure })
    if (edited.success.text !== text) yield* files.write(place.root, place.path, edited.success.text, { version })
    return {
      path: place.shown,
      line: edited.success.line,
      changed: edited.success.text !== text,
      ...(found !== undefined && found.names > 1 ? { note: otherNames(found.names) } : {})
    }
  }),
  previewEdit,
  ["old", "new"]
)

const list = builtin(
  Schema.Struct({
    path: Schema.optionalKey(PathText),
    glob: Schema.optionalKey(Schema.String),
    depth: count(20, 1),
    limit: count(5_000, 1)
  }),
  reading,
  Effect.fnUntraced(function*({ depth = 1, glob, limit = 500 }, input) {
    const [place] = yield* allowed(input, "fs.read")
    const files = yield* SafeFiles
    const isWanted = yield* globFilter(glob)
    const entries: Array<{ readonly path: string; readonly kind: string }> = []
    let [denied, more] = [0, false]
    const waiting = [{ folder: place.path, at: 1 }]
    for (let next = waiting.shift(); next !== undefined && !more; next = waiting.shift()) {
      const { at, folder } = next
      const found = yield* files.list(place.root, folder, 10_000)
      if (found === undefined && at === 1) {
        const stat = yield* files.stat(place.root, place.path)
        if (stat === undefined) return yield* absent(place)
        return yield* new PathUnusable({
          path: place.shown,
          issue: "it is not a folder",
          hint: "See what it is with filesystem.stat"
        })
      }
      for (const { kind, name } of found ?? []) {
        const path = joined(folder, name)
        const shown = place.root === "/" ? `/${path}` : path
        if (kind === "folder" && at < depth && !passedOver.has(name)) waiting.push({ folder: path, at: at + 1 })
        if (!isWanted(place.path === "." ? path : path.slice(place.path.length + 1))) continue
        if (kind !== "folder" && !(yield* mayRead(input, shown))) {
          denied++
          continue
        }
        if (entries.length === limit) {
          more = true
          break
        }
        entries.push({ path: shown, kind })
      }
      yield* Effect.yieldNow
    }
    return { path: place.shown, entries, denied, more }
  })
)

const describe = builtin(
  Schema.Struct({ path: PathText }),
  ({ path }) => Effect.map(locate(path, "fs.read", "kept"), ({ access }) => [access]),
  Effect.fnUntraced(function*(_, input) {
    const [place] = yield* allowed(input, "fs.read")
    const files = yield* SafeFiles
    const found = yield* files.stat(place.root, place.path)
    if (found === undefined) return yield* absent(place)
    return {
      path: place.shown,
      kind: found.kind,
      bytes: found.bytes,
      modified: new Date(found.modified).toISOString(),
      mode: found.mode.toString(8).padStart(3, "0"),
      names: found.names
    }
  })
)

const search = builtin(
  Schema.Struct({
    pattern: Schema.NonEmptyString.check(Schema.isMaxLength(1_000)),
    path: Schema.optionalKey(PathText),
    glob: Schema.optionalKey(Schema.String),
    regex: flag,
    ignore_case: flag,
    limit: count(1_000, 1)
  }),
  reading,
  Effect.fnUntraced(function*({ glob, ignore_case: ignoreCase = false, limit = 100, pattern, regex = false }, input) {
    const [place] = yield* allowed(input, "fs.read")
    const files = yield* SafeFiles
    if ((yield* files.stat(place.root, place.path)) === undefined) return yield* absent(place)
    const { matches, more, searched, skipped } = yield* searchFiles(input, place, {
      pattern,
      regex,
      ignoreCase,
      glob,
      limit
    })
    return {
      path: place.shown,
      matches: matches.map(({ line, path, text }) => ({ path, line, text })),
      searched,
      skipped,
      more
    }
  })
)

/** A file, or a folder with everything below it. */
const withAllBelow = Effect.fnUntraced(function*({ access, stat }: Found) {
  const inside = stat?.kind === "folder" ? yield* below(yield* placeOf(access)) : []
  return [access.path, ...inside.map(({ path }) => path)]
})

const changes = (paths: ReadonlyArray<string>, capability: PathAccess["capability"]) =>
  Effect.map(
    Effect.forEach(paths, (path) => change({ _tag: "Path", capability, path })),
    (all) => all.flat()
  )

const remove = builtin(
  Schema.Struct({ path: PathText, recursive: flag }),
  Effect.fnUntraced(function*({ path, recursive = false }) {
    const found = yield* locate(path, "fs.delete", "kept")
    if (found.stat === undefined) return yield* new FileAbsent({ path: found.access.path })
    if (found.access.path === ".") {
      return yield* new PathUnusable({ path, issue: "it is the project itself", hint: "Name what to delete in it" })
    }
    const all = yield* withAllBelow(found)
    if (all.length > 1 && !recursive) {
      return yield* new PathUnusable({
        path,
        issue: "the folder is not empty",
        hint: "Set recursive to delete all of it"
      })
    }
    return yield* changes(all, "fs.delete")
  }),
  Effect.fnUntraced(function*(_, input) {
    const places = yield* allowed(input, "fs.delete")
    const files = yield* SafeFiles
    const [first] = places
    // What is inside comes before its folder. Anything that was added meanwhile was not allowed, and stays.
    for (const { path, root, shown } of places.toReversed()) {
      const found = yield* files.stat(root, path)
      if (found?.kind !== "folder") yield* files.remove(root, path)
      else if (!(yield* files.removeEmpty(root, path))) {
        return yield* new PathUnusable({ path: shown, issue: "files were added to it meanwhile", hint: "Try again" })
      }
    }
    return { path: first.shown, deleted: places.length }
  }),
  Effect.fnUntraced(function*({ path }) {
    const all = yield* withAllBelow(yield* locate(path, "fs.delete", "kept"))
    return [`deletes ${all.length === 1 ? "this" : `these ${all.length}`}:`, ...all].join("\n")
  })
)

const move = builtin(
  Schema.Struct({ from: PathText, to: PathText, overwrite: flag }),
  Effect.fnUntraced(function*({ from, to }) {
    const source = yield* locate(from, "fs.delete", "kept")
    const target = yield* locate(to, "fs.write", "kept")
    if (source.stat === undefined) return yield* new FileAbsent({ path: source.access.path })
    const [old, next] = [source.access.path, target.access.path]
    if (old === "." || next === "." || next === old || next.startsWith(`${old}/`)) {
      return yield* new PathUnusable({ path: to, issue: "it is the same or inside", hint: "Name another place" })
    }
    const all = yield* withAllBelow(source)
    const moved = all.map((path) => `${next}${path.slice(old.length)}`)
    const reads = all.map((path): PathAccess => ({ _tag: "Path", capability: "fs.read", path }))
    return [...(yield* changes(all, "fs.delete")), ...(yield* changes(moved, "fs.write")), ...reads]
  }),
  Effect.fnUntraced(function*({ overwrite = false }, input) {
    const sources = yield* allowed(input, "fs.delete")
    const [target] = yield* allowed(input, "fs.write")
    const [source] = sources
    const files = yield* SafeFiles
    const found = yield* files.stat(source.root, source.path)
    if (found === undefined) return yield* absent(source)
    // A folder may have got more files since it was allowed to move with what it had.
    if (found.kind === "folder" && (yield* below(source)).length + 1 !== sources.length) {
      return yield* new PathUnusable({ path: source.shown, issue: "it changed meanwhile", hint: "Try again" })
    }
    const isApart = source.root !== target.root
    const whole = (place: typeof source) =>
      isApart && place.root !== "/" ? `${place.root}/${place.path}`.slice(1) : place.path
    yield* files.move(isApart ? "/" : source.root, whole(source), whole(target), { replace: overwrite })
    return { from: source.shown, to: target.shown }
  }),
  Effect.fnUntraced(function*({ from, overwrite = false, to }, input) {
    const source = yield* locate(from, "fs.delete", "kept")
    const { access, stat } = yield* locate(to, "fs.write", "kept")
    const isReplaced = overwrite && stat?.kind === "file" && source.stat?.kind === "file"
    if (stat !== undefined && !isReplaced && (yield* input.mayRead(access.path))) {
      return yield* alreadyThere(access.path)
    }
    const all = yield* withAllBelow(source)
    return [`moves to ${access.path}:`, ...all].join("\n")
  })
)

export const handlers = {
  filesystem_read: read,
  filesystem_write: write,
  filesystem_edit: edit,
  filesystem_list: list,
  filesystem_search: search,
  filesystem_stat: describe,
  filesystem_delete: remove,
  filesystem_move: move
} satisfies BuiltinHandlers<FileServices>

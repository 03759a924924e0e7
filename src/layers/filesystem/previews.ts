// What a change of files would do, as text for the person who is asked about it. Lines of a file are shown only if the
// caller may read it: the person's dialog may be one of the caller's own program.
import { Effect, Result, TextDiff } from "effect"
import { SafeFiles, WriteRefused } from "../../services/files/SafeFiles.ts"
import { editText } from "../../services/filesystem/editText.ts"
import { EditUnclear } from "../../services/filesystem/fileErrors.ts"
import { lineEdits } from "../../services/integrity/SigningPlan.ts"
import type { PreviewInput } from "../../services/primitive/Builtins.ts"
import { locate, notAFile, type Place, placeOf } from "./places.ts"
import { readWhole } from "./readText.ts"

/** A diff of longer texts is not read by anybody. In characters. */
const longestDiff = 1_048_576

/** Where a change would be made, and whether the caller may read what is there. */
const changed = Effect.fnUntraced(function*(path: string, { mayRead }: PreviewInput) {
  const { access, stat } = yield* locate(path, "fs.write")
  return { place: yield* placeOf(access), stat, isReadable: yield* mayRead(access.path) }
})

const diff = ({ shown }: Place, before: string, after: string): string | undefined =>
  before.length + after.length > longestDiff
    ? undefined
    : TextDiff.unified(lineEdits(before, after), { fromFile: shown, toFile: shown }).trimEnd()

/** What would fail is not asked about. */
export const alreadyThere = (path: string) => new WriteRefused({ path, issue: "exists", detail: "it is already there" })

export const previewWrite = Effect.fnUntraced(function*(
  { content, encoding, overwrite = true, path }: {
    readonly path: string
    readonly content: string
    readonly encoding?: string
    readonly overwrite?: boolean
  },
  input: PreviewInput
) {
  const { isReadable, place, stat } = yield* changed(path, input)
  const files = yield* SafeFiles
  if (stat === undefined) return `creates ${place.shown}`
  if (isReadable && stat.kind === "folder") return yield* notAFile(place.shown)
  if (isReadable && !overwrite) return yield* alreadyThere(place.shown)
  const found = yield* files.stat(place.root, place.path)
  const replaces = `replaces all of ${place.shown}, which has ${found?.bytes ?? 0} bytes`
  if (!isReadable || encoding === "base64" || stat.bytes > longestDiff) return replaces
  const { text } = yield* readWhole(place)
  if (text === content) return `changes nothing: ${place.shown} has this content already`
  return diff(place, text, content) ?? replaces
})

export const previewEdit = Effect.fnUntraced(function*(
  { new: next, old, path }: { readonly path: string; readonly old: string; readonly new: string },
  input: PreviewInput
) {
  const { isReadable, place, stat } = yield* changed(path, input)
  const one = `changes one place of ${place.shown}`
  if (!isReadable) return one
  if (stat?.kind === "folder") return yield* notAFile(place.shown)
  const { text } = yield* readWhole(place)
  const edited = editText(text, old, next)
  if (Result.isFailure(edited)) return yield* new EditUnclear({ path: place.shown, ...edited.failure })
  return diff(place, text, edited.success.text) ?? one
})

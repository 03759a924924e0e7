// The name of a lockfile: `<category>/<id>@<version>.lock.json`. If several chains of one version are locked, the others
// have the hash of their chain before the suffix (a variant). A name alone cannot tell the variant `abcdef012345` of
// `1.0.0-a` from version `1.0.0-a.abcdef012345`: the content can, and a name that does not follow from it is refused.
import { isCategory, isItemId } from "../item/ItemId.ts"
import type { Lockfile } from "./Lockfile.ts"
import type { LockKey, StoredLock } from "./LockfileStore.ts"

export const lockSuffix = ".lock.json"

/** The longest name that file systems take. */
const maxName = 255

const versionText = /^[0-9A-Za-z][0-9A-Za-z.+-]*$/
const hashText = /^[0-9a-f]{12}$/

const isFolder = (category: string): boolean => category !== "" && isCategory(category)

/**
 * The path of a lock below its scope's lockfiles folder; with a chain's hash, that of one of several locks of a version.
 * Undefined if no file can have that name.
 */
export const lockPath = ({ category, toolId, version }: LockKey, chainHash?: string): string | undefined => {
  if (!isItemId(toolId) || !versionText.test(version) || !isFolder(category)) return undefined
  if (chainHash !== undefined && !hashText.test(chainHash)) return undefined
  const name = `${toolId}@${version}${chainHash === undefined ? "" : `.${chainHash}`}${lockSuffix}`
  return name.length <= maxName ? `${category}/${name}` : undefined
}

/** "project:lockfiles/math/add@1.0.0.lock.json" */
export const showLock = ({ path, scope }: Pick<StoredLock, "path" | "scope">): string => `${scope}:lockfiles/${path}`

/** The id of the tool that a path names; undefined if it is not the path of a lockfile. */
export const toolOfPath = (path: string): string | undefined => {
  const slash = path.lastIndexOf("/")
  const [category, name] = [path.slice(0, Math.max(slash, 0)), path.slice(slash + 1)]
  const at = name.indexOf("@")
  if (at === -1 || !name.endsWith(lockSuffix) || name.length > maxName || !isFolder(category)) return undefined
  const [toolId, rest] = [name.slice(0, at), name.slice(at + 1, -lockSuffix.length)]
  return isItemId(toolId) && versionText.test(rest) ? toolId : undefined
}

export const keyOf = ({ root }: Pick<Lockfile, "root">): LockKey => ({
  toolId: root.tool_id,
  version: root.version,
  category: root.category
})

// How a lock's file is called: `<category>/<id>@<version>.lock.json`, and with the hash of its chain before the suffix
// where several chains of one version are locked. A name alone does not tell `1.0.0-a` of chain `abcdef012345` from
// version `1.0.0-a.abcdef012345`: the content does, and names that do not follow from it are refused.
import { isCategory, isItemId } from "../item/ItemId.ts"
import type { Lockfile } from "./Lockfile.ts"
import type { LockKey } from "./LockfileStore.ts"

export const lockSuffix = ".lock.json"

/** The longest name that file systems take. */
const maxName = 255

const versionText = /^[0-9A-Za-z][0-9A-Za-z.+-]*$/
const hashText = /^[0-9a-f]{12}$/

const isFolder = (category: string): boolean => category !== "" && isCategory(category)

const nameOf = (key: LockKey, tail: string): string | undefined => {
  const name = `${key.toolId}@${tail}${lockSuffix}`
  return isItemId(key.toolId) && versionText.test(key.version) && isFolder(key.category) && name.length <= maxName
    ? `${key.category}/${name}`
    : undefined
}

/** The path of a lock below a scope's lockfiles folder; undefined for what no file can be named after. */
export const lockPath = (key: LockKey): string | undefined => nameOf(key, key.version)

/** The path of one of several locks of a version. */
export const variantPath = (key: LockKey, chainHash: string): string | undefined =>
  hashText.test(chainHash) ? nameOf(key, `${key.version}.${chainHash}`) : undefined

export interface LockName {
  readonly category: string
  readonly toolId: string
  /** The version, and whatever follows it. */
  readonly tail: string
}

/** What a path says by itself; undefined for what is not called as a lock is. */
export const parseLockPath = (path: string): LockName | undefined => {
  const slash = path.lastIndexOf("/")
  const [category, name] = [path.slice(0, Math.max(slash, 0)), path.slice(slash + 1)]
  const at = name.indexOf("@")
  if (at === -1 || !name.endsWith(lockSuffix) || name.length > maxName || !isFolder(category)) return undefined
  const [toolId, tail] = [name.slice(0, at), name.slice(at + 1, -lockSuffix.length)]
  return isItemId(toolId) && versionText.test(tail) ? { category, toolId, tail } : undefined
}

export const keyOf = ({ root }: Pick<Lockfile, "root">): LockKey => ({
  toolId: root.tool_id,
  version: root.version,
  category: root.category
})

/** Whether a lock that says this is rightly called that, and how; undefined where the name is another's. */
export const nameFits = (name: LockName, lockfile: Lockfile): "version" | "variant" | undefined => {
  const { root } = lockfile
  if (name.category !== root.category || name.toolId !== root.tool_id) return undefined
  if (name.tail === root.version) return "version"
  return name.tail === `${root.version}.${lockfile.chain_hash}` ? "variant" : undefined
}

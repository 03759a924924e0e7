// What a check of `kiwi doctor` found.

export interface Finding {
  readonly check: string
  readonly result: "ok" | "warn" | "fail"
  /** The finding, in one line. */
  readonly found: string
  /** What to do about it. */
  readonly remedy?: string
}

export const ok = (check: string, found: string): Finding => ({ check, result: "ok", found })
export const warn = (check: string, found: string, remedy: string): Finding => ({
  check,
  result: "warn",
  found,
  remedy
})
export const fail = (check: string, found: string, remedy: string): Finding => ({
  check,
  result: "fail",
  found,
  remedy
})

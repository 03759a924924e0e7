// What `kiwi doctor` says about what agents may do: rules, remembered answers, waiting requests, clients with a token,
// and tools with less isolation than they need.
import { Effect, Result } from "effect"
import { ApprovalNotices } from "../services/approval/ApprovalNotices.ts"
import { ApprovalStore } from "../services/approval/ApprovalStore.ts"
import { Clients } from "../services/call/Clients.ts"
import { safeLine } from "../services/error/safeText.ts"
import { PermissionRules } from "../services/permission/PermissionRules.ts"
import { RememberedRules } from "../services/permission/RememberedRules.ts"
import { Settings } from "../services/settings/Settings.ts"
import { fail, type Finding, ok, warn } from "./finding.ts"

const count = (many: number, one: string): string => `${many} ${one}${many === 1 ? "" : "s"}`

const checkRules = Effect.gen(function*() {
  const sources = yield* (yield* PermissionRules).current
  if (sources.length === 0) return [ok("rules", "you have none: what Kiwi ships decides")]
  return sources.flatMap(({ file, ignored, narrows, rules, unusable }): ReadonlyArray<Finding> => {
    if (unusable !== undefined) {
      const found = `${file}, line ${unusable.line}: ${
        safeLine(unusable.issue, 300)
      }. Nothing runs until it is corrected`
      return [fail("rules", found, unusable.hint)]
    }
    const found = `${count(rules.rules.length, "rule")} in ${file}${narrows ? ", which nobody has accepted" : ""}`
    return ignored === 0
      ? [ok("rules", found)]
      : [warn("rules", `${found}; ${count(ignored, "rule")} that would allow more do not count`, "kiwi trust project")]
  })
})

const checkAnswers = Effect.gen(function*() {
  const remembered = yield* (yield* RememberedRules).current
  return remembered.length === 0
    ? ok("answers", "none of your answers is remembered in this project")
    : { ...ok("answers", `${count(remembered.length, "rule")} from your answers`), remedy: "kiwi permissions list" }
})

const checkRequests = Effect.gen(function*() {
  const listed = yield* Effect.result((yield* ApprovalStore).list)
  if (Result.isFailure(listed)) return fail("requests", listed.failure.message, listed.failure.remediation)
  const waiting = listed.success.filter(({ state }) => state === "pending").length
  return waiting === 0
    ? ok("requests", "none waits for you")
    : warn("requests", `${count(waiting, "request")} wait${waiting === 1 ? "s" : ""} for you`, "kiwi inbox")
})

const checkNotices = Effect.gen(function*() {
  const ways = yield* (yield* ApprovalNotices).ways
  return ways.map(({ remedy, state, way }) => remedy === undefined ? ok(way, state) : warn(way, state, remedy))
})

const checkTokens = Effect.gen(function*() {
  const listed = yield* Effect.result((yield* Clients).list)
  if (Result.isFailure(listed)) return fail("tokens", listed.failure.message, listed.failure.remediation)
  const names = listed.success.map(({ name, unattended }) => `${name}${unattended ? " (unattended)" : ""}`)
  return ok("tokens", names.length === 0 ? "no client has one" : `clients with a token: ${names.join(", ")}`)
})

const checkLowered = Effect.gen(function*() {
  const { isolationTools } = yield* (yield* Settings).current
  return isolationTools.size === 0
    ? ok("isolation", "no tool was lowered")
    : warn(
      "isolation",
      `your settings let these run without the sandbox that they need: ${[...isolationTools.keys()].join(", ")}`,
      "Remove what you do not use from isolation.tools in config/kiwi.yaml of your user space"
    )
})

export const checkGovernance = Effect.gen(function*() {
  return [
    ...(yield* checkRules),
    yield* checkAnswers,
    yield* checkRequests,
    ...(yield* checkNotices),
    yield* checkTokens,
    yield* checkLowered
  ]
})

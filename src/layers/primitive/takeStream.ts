// Reads a streamed answer: each piece is reported as it arrives, and all of them together are captured like a program's
// output. The pieces before a failure are kept.
import { Effect, type Scope, Stream } from "effect"
import { makeRedactor } from "../../services/audit/redaction.ts"
import { isKiwiError } from "../../services/error/KiwiError.ts"
import { escapeJson } from "../../services/error/safeText.ts"
import type { Outputs } from "../../services/primitive/Outputs.ts"
import type { CapturedOutput, PrimitiveInput, PrimitiveStream } from "../../services/primitive/Primitive.ts"
import { StreamFailed } from "../../services/primitive/PrimitiveErrors.ts"
import { unlikeJson } from "../../services/schema/json.ts"
import type { Capture, CaptureLimits } from "./captureOutput.ts"
import { makeCapture } from "./captureOutput.ts"

/** How much of the stream an error includes, in bytes. */
const errorHead = 4_096

const logHint = "The log of the program that embeds Kiwi has the error"

/** A piece as text, or what is wrong with it. */
const textOf = (piece: unknown): { readonly text: string } | { readonly issue: string } => {
  if (typeof piece === "string") return { text: piece }
  const issue = typeof piece === "object" && piece !== null && !Array.isArray(piece)
    ? unlikeJson(piece, "a piece")
    : "a piece is neither text nor an object"
  return issue === undefined ? { text: `${escapeJson(JSON.stringify(piece))}\n` } : { issue }
}

const breakOff = Effect.fnUntraced(
  function*(tool: string, capture: Capture, why: Pick<StreamFailed, "issue" | "hint" | "cause">) {
    const output = capture.head(errorHead)
    if (capture.head(errorHead + 4) !== output) yield* capture.keep
    const { spilled } = yield* capture.finish
    return yield* new StreamFailed({ tool, ...why, output, ...(spilled === undefined ? {} : { kept: spilled }) })
  }
)

export const takeStream = Effect.fnUntraced(
  function*(
    outputs: Outputs["Service"],
    limits: Pick<CaptureLimits, "inline" | "spill">,
    input: PrimitiveInput,
    stream: PrimitiveStream["stream"]
  ): Effect.fn.Return<CapturedOutput, StreamFailed, Scope.Scope> {
    const { emit, secrets, tool } = input
    const capture = makeCapture(outputs, { ...limits, secrets })
    yield* Effect.addFinalizer(() => capture.close)
    const broken = (issue: string, hint: string = "Correct the handler") => breakOff(tool, capture, { issue, hint })
    const logged = (cause: unknown) =>
      Effect.andThen(Effect.logError(`The stream of ${tool} fails`, cause), broken("it fails", logHint))
    // A surrogate pair may be split between two pieces.
    const joined = makeRedactor([])

    const give = Effect.fnUntraced(function*(text: string) {
      if (text === "") return
      yield* (capture.take(Buffer.from(text)) ?? Effect.void).pipe(
        Effect.catch(({ limit }) => broken(`it is longer than ${limit.toLocaleString("en-US")} bytes`, "Ask for less"))
      )
      yield* emit({ _tag: "Chunk", channel: "stdout", text })
    })
    const failed = (error: unknown) =>
      isKiwiError(error)
        ? breakOff(tool, capture, { issue: error.message, hint: error.remediation ?? logHint, cause: error })
        : logged(error)
    yield* stream.pipe(
      Stream.catch((error) => Stream.fromEffect(failed(error))),
      Stream.runForEach((piece) => {
        const read = textOf(piece)
        return "text" in read ? give(joined.push(read.text)) : broken(read.issue)
      }),
      Effect.catchDefect(logged)
    )
    yield* give(joined.rest())
    return yield* capture.finish
  },
  Effect.scoped
)

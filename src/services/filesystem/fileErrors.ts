// Why a file tool did not do what it was asked.
import { Schema } from "effect"
import { loadCall } from "../error/calls.ts"

/** There is no file or folder at this path. */
export class FileAbsent extends Schema.TaggedError<FileAbsent>()("FileAbsent", { path: Schema.String }) {
  override get message() {
    return `There is nothing at ${this.path}`
  }
  get remediation() {
    return "Look with filesystem.list what its folder has, or find it with filesystem.search"
  }
}

/** The path cannot be used for this. */
export class PathUnusable extends Schema.TaggedError<PathUnusable>()("PathUnusable", {
  path: Schema.String,
  issue: Schema.String,
  hint: Schema.String
}) {
  override get message() {
    return `${this.path} cannot be used here: ${this.issue}`
  }
  get remediation() {
    return this.hint
  }
}

/** No tool may write there, whatever a rule says. */
export class PathProtected extends Schema.TaggedError<PathProtected>()("PathProtected", {
  path: Schema.String,
  /** "git runs what is configured there". */
  why: Schema.String,
  byGit: Schema.Boolean
}) {
  override get message() {
    return `No tool changes ${this.path}, since ${this.why}`
  }
  get remediation() {
    return this.byGit
      ? "Let a git command change it"
      : "Tell the person what you would change there, and why: they can change it themselves"
  }
  get refusal() {
    return "denied" as const
  }
}

/** The file is not UTF-8 text. */
export class FileNotText extends Schema.TaggedError<FileNotText>()("FileNotText", {
  path: Schema.String,
  /** Size of the file. */
  bytes: Schema.Int
}) {
  override get message() {
    return `${this.path} is not UTF-8 text (${this.bytes} bytes)`
  }
  get remediation() {
    return "Use filesystem.read with encoding base64 for its bytes, and filesystem.write with encoding base64 to replace them"
  }
}

/** The text to replace is not in the file exactly once. */
export class EditUnclear extends Schema.TaggedError<EditUnclear>()("EditUnclear", {
  path: Schema.String,
  /** How often the text is in the file. */
  found: Schema.Int,
  /** Lines at which it begins or, if it is not there, lines that are like its first one. At most ten. */
  lines: Schema.Array(Schema.Int)
}) {
  override get message() {
    const lines = this.lines.length === 0
      ? ""
      : `, ${this.lines.length === 1 ? "line" : "lines"} ${this.lines.join(", ")}`
    return this.found === 0
      ? `The old text is not in ${this.path}${this.lines.length === 0 ? "" : `; like its first line${lines}`}`
      : `The old text is ${this.found} times in ${this.path}${lines}, and must be there once`
  }
  get remediation() {
    return this.found === 0
      ? "Read the lines again, and give old exactly as the file has it, with its blanks"
      : "Add lines before or after it to old and new, until only one place fits"
  }
}

/** The search pattern cannot be used. */
export class PatternUnusable extends Schema.TaggedError<PatternUnusable>()("PatternUnusable", {
  pattern: Schema.String,
  issue: Schema.String
}) {
  override get message() {
    return `The pattern cannot be used: ${this.issue}`
  }
  get remediation() {
    return loadCall("tool", "filesystem.search")
  }
}

// What is wrong with a rule, or with a file of rules, that a person wants to change.
import { Schema } from "effect"

/** This is not a rule, or there is none like it. Nothing was changed. */
export class RuleRefused extends Schema.TaggedError<RuleRefused>()("RuleRefused", {
  /** As somebody typed it. */
  rule: Schema.String,
  issue: Schema.String,
  hint: Schema.optionalKey(Schema.String)
}) {
  override get message() {
    return `${this.rule} ${this.issue}`
  }
  get remediation() {
    return this.hint ??
      "Rules look like fs.write(src/**), shell.run(npm test), net.http(api.github.com) or deploy: kiwi permissions allow --help"
  }
}

/** A `permissions.yaml` is not valid, so no command edits it. */
export class RulesInvalid extends Schema.TaggedError<RulesInvalid>()("RulesInvalid", {
  /** "user:config/permissions.yaml" */
  file: Schema.String,
  line: Schema.Int,
  issue: Schema.String
}) {
  override get message() {
    return `${this.file}, line ${this.line}: ${this.issue}`
  }
  get remediation() {
    return "Correct the line with an editor; kiwi permissions check lists everything that is wrong"
  }
}

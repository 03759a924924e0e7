// One pass over config text, before any data is in it; substituted data is never looked at again. So a parameter that
// holds `${SECRET}` stays the text `${SECRET}`.
import { Schema } from "effect"

/** A placeholder without a value and without a default. */
export class TemplateUnresolved extends Schema.TaggedError<TemplateUnresolved>()("TemplateUnresolved", {
  /** JSON-pointer-like place in the config: "/args/0". */
  at: Schema.String,
  placeholder: Schema.String,
  hint: Schema.String
}) {
  override get message() {
    return `${this.placeholder} in config ${this.at} has no value`
  }
  get remediation() {
    return this.hint
  }
}

/** A parameter tried to be more than data: to change a URL's scheme, host or port, or to end a header. */
export class TemplateUnsafe extends Schema.TaggedError<TemplateUnsafe>()("TemplateUnsafe", {
  at: Schema.String,
  placeholder: Schema.String,
  issue: Schema.String
}) {
  override get message() {
    return `${this.placeholder} in config ${this.at}: ${this.issue}`
  }
  get remediation() {
    return "Pass a plain value there"
  }
}

export type TemplateError = TemplateUnresolved | TemplateUnsafe

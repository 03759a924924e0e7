// Errors of declaring, finding and installing packages.
import { Schema } from "effect"
import { Ecosystem } from "./InstalledPackage.ts"

/** Kiwi cannot install from this declaration. */
export class DependenciesInvalid extends Schema.TaggedError<DependenciesInvalid>()("DependenciesInvalid", {
  /** The link that declares them. */
  link: Schema.String,
  issues: Schema.Array(Schema.Struct({ field: Schema.String, error: Schema.String }))
}) {
  override get message() {
    return `The dependencies that ${this.link} declares are not valid:  ${
      this.issues.map((i) => `${i.field}: ${i.error}`).join("; ")
    }`
  }
  get remediation() {
    return `Write packages by name and version range in ${this.link} and sign it again: kiwi sign tool ${this.link}`
  }
  get validationIssues() {
    return this.issues
  }
}

/** A tool's packages are not installed. */
export class DependenciesMissing extends Schema.TaggedError<DependenciesMissing>()("DependenciesMissing", {
  tool: Schema.String,
  /** The first link that declares packages. */
  link: Schema.String,
  /** The chain's declarations, as written. */
  requirements: Schema.Array(Schema.String),
  why: Schema.Literals(["not-installed", "damaged", "interpreter-changed"])
}) {
  override get message() {
    const what = this.requirements.join(", ")
    switch (this.why) {
      case "not-installed":
        return `${this.tool} needs packages that are not installed: ${what}`
      case "damaged":
        return `The packages of ${this.tool} are no longer as they were installed: ${what}`
      case "interpreter-changed":
        return `The packages of ${this.tool} were installed for an interpreter that has changed since: ${what}`
    }
  }
  get remediation() {
    return `kiwi env sync ${this.tool}`
  }
  get itemState() {
    return "missing_command" as const
  }
}

/** No program that could install the packages was found. */
export class InstallerMissing extends Schema.TaggedError<InstallerMissing>()("InstallerMissing", {
  tool: Schema.String,
  ecosystem: Ecosystem,
  looked: Schema.String
}) {
  override get message() {
    return `Nothing here can install the packages of ${this.tool}: ${this.looked}`
  }
  get remediation() {
    return this.ecosystem === "python"
      ? "Install uv, or Python with venv and pip (Debian: apt-get install python3-venv)"
      : "Install npm; it comes with Node"
  }
}

/** The installer ran and failed. */
export class InstallFailed extends Schema.TaggedError<InstallFailed>()("InstallFailed", {
  tool: Schema.String,
  installer: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${this.installer} could not install the packages of ${this.tool}: ${this.detail}`
  }
  get remediation() {
    return `Correct what it names (a package, its versions, the index or the network), and try again: kiwi env sync ${this.tool}`
  }
}

/** The tool's declared Python versions do not include the interpreter's. */
export class InterpreterUnsuitable extends Schema.TaggedError<InterpreterUnsuitable>()("InterpreterUnsuitable", {
  tool: Schema.String,
  wanted: Schema.String,
  found: Schema.String
}) {
  override get message() {
    return `${this.tool} needs Python ${this.wanted}, and its interpreter here is ${this.found}`
  }
  get remediation() {
    return "Install such a Python at one of the places that docs/environment.md lists"
  }
}

/** The registry's packages differ from the locked ones. None of them was installed. */
export class PinsDiffer extends Schema.TaggedError<PinsDiffer>()("PinsDiffer", {
  tool: Schema.String,
  differences: Schema.Array(Schema.String)
}) {
  override get message() {
    return `The packages of ${this.tool} are not those that its lock names: ${this.differences.join("; ")}`
  }
  get remediation() {
    return `Find out why they changed; to take the new ones: kiwi env sync ${this.tool} --upgrade`
  }
}

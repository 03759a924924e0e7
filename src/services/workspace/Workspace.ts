// The project that a kernel serves, or none: a kernel without a project still has the user and system tiers.
import { Context, type Option, Schema } from "effect"

/** The folder named as the project does not exist or is not a folder. */
export class ProjectNotFound extends Schema.TaggedError<ProjectNotFound>()("ProjectNotFound", {
  /** As the caller wrote it. */
  dir: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `"${this.dir}" cannot be opened as a project: ${this.detail}`
  }
  get remediation() {
    return "Name an existing folder as the project, or make one with: kiwi init DIR"
  }
}

export interface Project {
  /** Random id: `$KIWI_HOME/projects/<id>/` has Kiwi's decisions and state about this project. */
  readonly id: string
  /** The project's real path. */
  readonly root: string
  /** `<root>/.ai`. May not exist. */
  readonly ai: string
  /** `$KIWI_HOME/projects/<id>`, 0700. */
  readonly state: string
}

export class Workspace extends Context.Service<Workspace, {
  readonly project: Option.Option<Project>
  /** Folder for state about this workspace: the project's `state`, or `$KIWI_HOME/user` without a project. */
  readonly state: string
  /** Where tools run: the project's root, or a private folder below `state` without a project. */
  readonly cwd: string
}>()("kiwi/services/workspace/Workspace") {}

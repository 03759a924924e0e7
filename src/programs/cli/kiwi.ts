// The command tree, and running one command.
import { Effect } from "effect"
import type { FileSystem, Layer, Path, Stdio, Terminal } from "effect"
import * as CliConfig from "effect/cli/CliConfig"
import * as CliOutput from "effect/cli/CliOutput"
import * as Command from "effect/cli/Command"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import type { ChildProcessSpawner } from "effect/process"
import type { KernelOptionInvalid } from "../../layers/kernelOptions.ts"
import type { Projects } from "../../layers/Projects.ts"
import { findProject } from "../../layers/workspace/WorkspaceNode.ts"
import type { Clients } from "../../services/call/Clients.ts"
import { safeText } from "../../services/error/safeText.ts"
import type { SafeFiles } from "../../services/files/SafeFiles.ts"
import type { Identity } from "../../services/identity/Identity.ts"
import type { Keychain } from "../../services/identity/Keychain.ts"
import type { SecretStore } from "../../services/identity/SecretStore.ts"
import type { Outbound } from "../../services/outbound/Outbound.ts"
import type { Lineage } from "../../services/presence/Lineage.ts"
import type { ChildProcesses } from "../../services/process/ChildProcesses.ts"
import type { HomeRefused } from "../../services/workspace/KiwiHome.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { version } from "../version.ts"
import { approveCommand, rejectCommand } from "./commands/approve.ts"
import { auditAnchorCommand, auditPruneCommand, auditVerifyCommand } from "./commands/audit/check.ts"
import { auditGroup, auditTailCommand, logsCommand } from "./commands/audit/logs.ts"
import { auditExportCommand, auditShowCommand, auditStatsCommand } from "./commands/audit/show.ts"
import { chainCommand } from "./commands/chain.ts"
import { clientAddCommand, clientGroup, clientListCommand, clientRemoveCommand } from "./commands/client.ts"
import { demoCommand } from "./commands/demo.ts"
import { completionsCommand, doctorCommand } from "./commands/doctor.ts"
import {
  envExplainCommand,
  envGroup,
  secretGroup,
  secretListCommand,
  secretRemoveCommand,
  secretSetCommand
} from "./commands/env.ts"
import { envPruneCommand, envSyncCommand } from "./commands/envSync.ts"
import { identityCommand, identityDecryptCommand, identityEncryptCommand } from "./commands/identity.ts"
import { inboxCommand, statusCommand } from "./commands/inbox.ts"
import { initCommand } from "./commands/init.ts"
import {
  lockfileFreezeCommand,
  lockfileGroup,
  lockfilePruneCommand,
  lockfileUpdateCommand
} from "./commands/lockfile.ts"
import {
  lockfileDiffCommand,
  lockfileListCommand,
  lockfileOutdatedCommand,
  lockfileValidateCommand,
  lockfileVerifyCommand
} from "./commands/lockfileChecks.ts"
import {
  permissionsAllowCommand,
  permissionsAskCommand,
  permissionsCheckCommand,
  permissionsDenyCommand,
  permissionsExplainCommand,
  permissionsGroup,
  permissionsListCommand,
  permissionsRemoveCommand
} from "./commands/permissions.ts"
import { profileGroup, profileListCommand, profileShowCommand } from "./commands/profile.ts"
import { explainCommand, runCommand } from "./commands/run.ts"
import { loadCommand, searchCommand } from "./commands/search.ts"
import { serveCommand } from "./commands/serve.ts"
import { signCommand } from "./commands/sign.ts"
import {
  trustAddCommand,
  trustGroup,
  trustListCommand,
  trustProjectCommand,
  trustProposeCommand,
  trustRemoveCommand
} from "./commands/trust.ts"
import { presenter, welcome, withNext } from "./help.ts"
import * as Output from "./Output.ts"
import { wantsJson } from "./Output.ts"
import { root } from "./root.ts"
import { Shell } from "./Shell.ts"
import type { TerminalDevice } from "./TerminalDevice.ts"
import { toExitCode } from "./toExitCode.ts"

/** The services that commands use of the process-level kernel. */
export type KernelServices =
  | ChildProcesses
  | Clients
  | Identity
  | Keychain
  | KiwiHome
  | Outbound
  | Projects
  | SafeFiles
  | SecretStore

const rootCommand = root.pipe(
  Command.withHandler(() =>
    Effect.gen(function*() {
      const output = yield* Output.Output
      const { cwd } = yield* Shell
      const found = yield* findProject(cwd, yield* KiwiHome)
      const project = found === undefined ? undefined : { root: safeText(found) }
      yield* output.answer(
        { name: "kiwi", version, project: found ?? null, help: "kiwi --help" },
        (paint) => welcome(paint, project)
      )
    })
  ),
  Command.withDescription(
    "Kiwi finds, proves, permits, runs and records tools for AI agents. An agent talks to one MCP server, kiwi serve; " +
      "you decide here what it may use."
  ),
  Command.withExamples([
    { command: "kiwi init", description: "Make this folder a project, and see how to connect your agent" },
    { command: "kiwi search add" },
    { command: `kiwi run tool add --params '{"a": 1, "b": 2}'` }
  ]),
  withNext(["kiwi COMMAND --help", "what a command is for, with examples"])
)

/** `kernel` is built only when a command that needs it runs: not for help or wrong usage. */
export const makeTree = <R>(kernel: Layer.Layer<KernelServices, HomeRefused | KernelOptionInvalid, R>) => {
  const tree = rootCommand.pipe(
    Command.provide(kernel),
    Command.withSubcommands([
      {
        group: "Start",
        commands: [Command.provide(initCommand, kernel), Command.provide(serveCommand, kernel), demoCommand]
      },
      {
        group: "Use",
        commands: [
          Command.provide(searchCommand, kernel),
          Command.provide(loadCommand, kernel),
          Command.provide(runCommand, kernel),
          Command.provide(explainCommand, kernel),
          Command.provide(chainCommand, kernel),
          envGroup.pipe(
            Command.withSubcommands([
              Command.provide(envExplainCommand, kernel),
              secretGroup.pipe(
                Command.withSubcommands([
                  Command.provide(secretSetCommand, kernel),
                  Command.provide(secretListCommand, kernel),
                  Command.provide(secretRemoveCommand, kernel)
                ])
              ),
              Command.provide(envSyncCommand, kernel),
              Command.provide(envPruneCommand, kernel)
            ])
          )
        ]
      },
      {
        group: "Decide",
        commands: [
          Command.provide(inboxCommand, kernel),
          Command.provide(approveCommand, kernel),
          Command.provide(rejectCommand, kernel),
          Command.provide(statusCommand, kernel),
          Command.provide(signCommand, kernel),
          Command.provide(identityCommand, kernel).pipe(
            Command.withSubcommands([
              Command.provide(identityEncryptCommand, kernel),
              Command.provide(identityDecryptCommand, kernel)
            ])
          ),
          trustGroup.pipe(
            Command.withSubcommands([
              Command.provide(trustProjectCommand, kernel),
              Command.provide(trustAddCommand, kernel),
              Command.provide(trustProposeCommand, kernel),
              Command.provide(trustListCommand, kernel),
              Command.provide(trustRemoveCommand, kernel)
            ])
          ),
          clientGroup.pipe(
            Command.withSubcommands([
              Command.provide(clientAddCommand, kernel),
              Command.provide(clientListCommand, kernel),
              Command.provide(clientRemoveCommand, kernel)
            ])
          ),
          permissionsGroup.pipe(
            Command.withSubcommands([
              Command.provide(permissionsListCommand, kernel),
              Command.provide(permissionsAllowCommand, kernel),
              Command.provide(permissionsAskCommand, kernel),
              Command.provide(permissionsDenyCommand, kernel),
              Command.provide(permissionsRemoveCommand, kernel),
              Command.provide(permissionsCheckCommand, kernel),
              Command.provide(permissionsExplainCommand, kernel)
            ])
          ),
          profileGroup.pipe(
            Command.withSubcommands([
              Command.provide(profileListCommand, kernel),
              Command.provide(profileShowCommand, kernel)
            ])
          ),
          lockfileGroup.pipe(
            Command.withSubcommands([
              Command.provide(lockfileFreezeCommand, kernel),
              Command.provide(lockfileValidateCommand, kernel),
              Command.provide(lockfileListCommand, kernel),
              Command.provide(lockfilePruneCommand, kernel),
              Command.provide(lockfileDiffCommand, kernel),
              Command.provide(lockfileVerifyCommand, kernel),
              Command.provide(lockfileOutdatedCommand, kernel),
              Command.provide(lockfileUpdateCommand, kernel)
            ])
          )
        ]
      },
      {
        group: "Look back",
        commands: [
          Command.provide(logsCommand, kernel),
          auditGroup.pipe(
            Command.withSubcommands([
              Command.provide(auditVerifyCommand, kernel),
              Command.provide(auditTailCommand, kernel),
              Command.provide(auditShowCommand, kernel),
              Command.provide(auditStatsCommand, kernel),
              Command.provide(auditAnchorCommand, kernel),
              Command.provide(auditExportCommand, kernel),
              Command.provide(auditPruneCommand, kernel)
            ])
          )
        ]
      },
      {
        group: "Look after",
        commands: [Command.provide(doctorCommand, kernel), completionsCommand((): Command.Command.Any => tree)]
      }
    ])
  )
  return tree
}

export type Environment =
  | ChildProcessSpawner.ChildProcessSpawner
  | FileSystem.FileSystem
  | Lineage
  | Path.Path
  | Shell
  | Stdio.Stdio
  | Terminal.Terminal
  | TerminalDevice

/** Runs one command and returns the exit code. Never fails: it prints every failure. */
export const runKiwi = Effect.fn("kiwi")((
  args: ReadonlyArray<string>,
  kernel: Layer.Layer<KernelServices, HomeRefused | KernelOptionInvalid, Environment>
): Effect.Effect<number, never, Environment> =>
  Effect.flatMap(presenter, (shown) =>
    Command.runWith(makeTree(kernel), { version })(args).pipe(
      Effect.provideService(CliOutput.Presenter, shown),
      Effect.provideService(CliConfig.CliConfig, { builtIns: [GlobalFlag.Help, GlobalFlag.Version] })
    )).pipe(toExitCode(wantsJson(args)))
)

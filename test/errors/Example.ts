// How each error comes about. An example makes the real program or a real kernel fail; only what a machine cannot be
// brought to (a full disk, a server that is gone) is made in memory. Every file of examples/ is taken in by itself.
import { ConfigProvider, Effect, Layer, Logger } from "effect"
import type { Schema, Scope } from "effect"
import { globSync } from "node:fs"
import { call } from "../layers/proxy/calls.ts"
import { accept, kernelOf, realProject } from "../support/realProject.ts"
import type { RealProject } from "../support/realProject.ts"
import { trustProject } from "../support/trustWorld.ts"

export interface Example {
  /** How it came about, as a sentence for people: "An agent asks for `tol`, and there is `tool`". */
  readonly when: string
  /** Succeeds with the error. */
  readonly produce: Effect.Effect<unknown, unknown, Scope.Scope>
}

/** By the name of the error's class. */
export type Examples = Readonly<Record<string, Example>>

/** What must be in no error: values of the process's environment and of the project's `.env`. */
export const planted = {
  environment: "planted-in-the-environment-4711",
  dotenv: "planted-in-dotenv-4712"
} as const

export const environment = Layer.merge(
  ConfigProvider.layer(
    ConfigProvider.fromEnv({ env: { ...process.env, PLANTED_TOKEN: planted.environment } as Record<string, string> })
  ),
  // What goes wrong here is meant to.
  Logger.layer([])
)

/** Every example of the folder, with the file that has it. */
export const loadExamples = async (): Promise<
  ReadonlyArray<Example & { readonly name: string; readonly file: string }>
> => {
  const folder = new URL("examples/", import.meta.url)
  const files = globSync("*.ts", { cwd: folder.pathname }).toSorted()
  const loaded = await Promise.all(
    files.map(async (file) =>
      [file, await import(new URL(file, folder).href) as { readonly examples: Examples }] as const
    )
  )
  return loaded.flatMap(([file, { examples }]) =>
    Object.entries(examples).map(([name, { produce, when }]) => ({ name, file, produce, when }))
  )
}

/** A project on a real disk, with a `.env` that holds a secret. */
export const project = (files: Readonly<Record<string, string>> = {}) =>
  realProject({ ".env": `DOTENV_TOKEN=${planted.dotenv}\n`, ...files })

type Kernel = Layer.Success<ReturnType<typeof kernelOf>>

/** What a person has done with the project before it comes to the error. */
export type Before = "nothing" | "trusted" | "signed"

/** The error of an effect in the real kernel of such a project. */
export const failing = <E>(
  files: Readonly<Record<string, string>>,
  before: Before,
  effect: (project: RealProject) => Effect.Effect<unknown, E, Kernel | Scope.Scope>
) =>
  Effect.gen(function*() {
    const place = yield* project(files)
    return yield* Effect.provide(
      (before === "nothing" ? Effect.void : before === "trusted" ? trustProject : accept).pipe(
        Effect.andThen(Effect.flip(Effect.suspend(() => effect(place))))
      ),
      kernelOf(place)
    )
  })

/** The error of a tool's call in such a project. */
export const failingCall = (
  files: Readonly<Record<string, string>>,
  before: Before,
  item: string,
  parameters: Schema.JsonObject = {}
) => failing(files, before, () => call(item, parameters))

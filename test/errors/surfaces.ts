// One real project behind each of the three surfaces: a command, the MCP server, and a program that embeds Kiwi.
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Layer, Stdio, Stream } from "effect"
import * as Kernel from "../../src/layers/Kernel.ts"
import type { RealProject } from "../support/realProject.ts"

/** What the bin composes for commands. */
export const kernelOfSurfaces = ({ home, userSpace }: Pick<RealProject, "home" | "userSpace">) =>
  Kernel.layerProjects({ home, userSpace }).pipe(
    Layer.provideMerge(NodeServices.layer),
    // Not the stdin of the tests, which is open.
    Layer.merge(Stdio.layerTest({ stdin: Stream.empty }))
  )

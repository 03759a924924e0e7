// Folder paths that need not exist, for kernels without a disk.
import { Effect, Layer } from "effect"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"

const defaults: KiwiHome["Service"] = {
  home: "/memory/home/.kiwi",
  userSpace: "/memory/home/.ai",
  systemSpace: "/memory/system/.ai",
  verified: "/memory/home/.kiwi/verified",
  userHome: "/memory/home"
}

export const make = (folders: Partial<KiwiHome["Service"]> = {}) =>
  Effect.succeed(KiwiHome.of({ ...defaults, ...folders }))

export const layerWith = (folders: Partial<KiwiHome["Service"]>) => Layer.effect(KiwiHome, make(folders))

export const layer = layerWith({})

// The given settings, and defaults for the rest.
import { Effect, Layer } from "effect"
import { defaults } from "../../services/settings/definitions.ts"
import { Settings, type SettingsValues } from "../../services/settings/Settings.ts"

export const make = (values: Partial<SettingsValues>) =>
  Effect.succeed(Settings.of({ current: Effect.succeed({ ...defaults, ...values }), problems: Effect.succeed([]) }))

export const layerWith = (values: Partial<SettingsValues>) => Layer.effect(Settings, make(values))

export const layer = layerWith({})

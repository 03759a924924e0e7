// Chooses the layer of a service: the kernel's own, or a program's replacement. A kernel names every service with its
// layer through `choose`, so every use of the service gets the replacement, and the replaced layer is never built.
import { Context, Effect, Layer, Option } from "effect"

export type Choose = <I, S, E, R>(service: Context.Key<I, S>, layer: Layer.Layer<I, E, R>) => Layer.Layer<I, E, R>

/** Each service has its own layer. */
export const chooseOwn: Choose = (_, layer) => layer

const chooseFrom = (replaced: Context.Context<never>): Choose => (service, layer) =>
  Option.match(Context.getOption(replaced, service), {
    onNone: () => layer,
    onSome: (instead) => Layer.succeed(service, instead)
  })

/** Builds `replace` once, and `compose` with the services in it instead of the kernel's own. */
export const replaceServices = <Replaced, E2, A, E, R>(
  replace: Layer.Layer<Replaced, E2> | undefined,
  compose: (choose: Choose) => Layer.Layer<A, E, R>
): Layer.Layer<A, E | E2, R> =>
  replace === undefined
    ? compose(chooseOwn)
    : Layer.unwrap(Effect.map(Layer.build(replace), (built) => compose(chooseFrom(built))))

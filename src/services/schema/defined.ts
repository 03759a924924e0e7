// Members that are there or not: of reports, where a member that is not there is left out of the JSON.

/** What may be `undefined` may be missing. */
type Defined<A> =
  & { readonly [K in keyof A as undefined extends A[K] ? never : K]: A[K] }
  & { readonly [K in keyof A as undefined extends A[K] ? K : never]?: Exclude<A[K], undefined> }

/** The same without the members that are `undefined`. */
export const defined = <A extends object>(members: A): Defined<A> =>
  // What is left out is what the type says may be missing.
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Defined<A>

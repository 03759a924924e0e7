/** Without what others contain. Whatever is left out is contained in something that stays; of equal ones one stays. */
export const withoutContained = <A>(
  all: ReadonlyArray<A>,
  isWithin: (child: A, parent: A) => boolean
): ReadonlyArray<A> => {
  let kept: ReadonlyArray<A> = []
  for (const one of all) {
    if (kept.some((other) => isWithin(one, other))) continue
    kept = [...kept.filter((other) => !isWithin(other, one)), one]
  }
  return kept
}

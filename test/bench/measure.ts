// Timing. Rivals take turns, and who is first changes with every round: what else the machine does meets both alike.

export const millis = async (run: () => Promise<unknown>): Promise<number> => {
  const start = performance.now()
  await run()
  return performance.now() - start
}

type Times<K extends string> = Readonly<Record<K, ReadonlyArray<number>>>

/** Each contender once a round, `rounds` times, after `warm` rounds that do not count. */
export const inTurns = async <K extends string>(
  contenders: Readonly<Record<K, () => Promise<unknown>>>,
  { rounds, warm }: { readonly rounds: number; readonly warm: number }
): Promise<Times<K>> => {
  const names = Object.keys(contenders) as Array<K>
  const times = Object.fromEntries(names.map((name) => [name, [] as Array<number>])) as Record<K, Array<number>>
  for (let round = -warm; round < rounds; round++) {
    const shift = (round + warm) % names.length
    for (const name of [...names.slice(shift), ...names.slice(0, shift)]) {
      const time = await millis(contenders[name])
      if (round >= 0) times[name].push(time)
    }
  }
  return times
}

export const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, milliseconds)
  })

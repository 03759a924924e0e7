// A map in memory that evicts the least recently used entries when it is full.

export class BoundedMap<K, V> {
  readonly #entries = new Map<K, V>()
  readonly #most: number
  readonly #sizeOf: (value: V) => number
  /** Passes only what is deleted next, so it stands at the oldest: a new one would pass every deleted entry again. */
  readonly #oldest = this.#entries.keys()
  #total = 0

  /**
   * `most`: the limit on the total size of all values. `sizeOf` must return the same size for a value each time.
   * Default: 1 each.
   */
  constructor(most: number, sizeOf: (value: V) => number = () => 1) {
    this.#most = most
    this.#sizeOf = sizeOf
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: K): V | undefined {
    const value = this.#entries.get(key)
    // The order matters only when the map is nearly full, and moving an entry costs more than finding it.
    if (value !== undefined && this.#total > this.#most / 2) {
      this.#entries.delete(key)
      this.#entries.set(key, value)
    }
    return value
  }

  /** A value larger than the whole limit is not stored. */
  set(key: K, value: V): void {
    this.delete(key)
    const size = this.#sizeOf(value)
    if (size > this.#most) return
    this.#entries.set(key, value)
    this.#total += size
    while (this.#total > this.#most) {
      const { done, value: oldest } = this.#oldest.next()
      if (done === true) break
      this.delete(oldest)
    }
  }

  delete(key: K): void {
    const value = this.#entries.get(key)
    if (value === undefined) return
    this.#total -= this.#sizeOf(value)
    this.#entries.delete(key)
  }

  /** Least recently used first. */
  values(): IterableIterator<V> {
    return this.#entries.values()
  }
}

/** An item that is in at most one bag at a time. */
export interface BagItem {
  /** Its position, kept by the bag. */
  bagPlace: number
}

/**
 * An unordered collection that each request joins and leaves. A `Set` would keep garbage alive: when it grows or is
 * rebuilt, V8 leaves the old table pointing to the next one; once a table is in the old space, all requests in its
 * successors are moved there too, long after their end.
 */
export class Bag<T extends BagItem> {
  readonly #items: T[] = []

  get size(): number {
    return this.#items.length
  }

  add(item: T): void {
    item.bagPlace = this.#items.length
    this.#items.push(item)
  }

  /** The last item takes the place of the removed one. An item that is not in the bag changes nothing. */
  delete(item: T): void {
    const { bagPlace } = item
    if (this.#items[bagPlace] !== item) return
    const last = this.#items.pop()
    if (last === undefined || last === item) return
    last.bagPlace = bagPlace
    this.#items[bagPlace] = last
  }

  /** The current items; items may come and go during the iteration. */
  [Symbol.iterator](): ArrayIterator<T> {
    return [...this.#items].values()
  }
}

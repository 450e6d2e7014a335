/** An item that is in at most one bag at a time. */
export interface BagItem {
  /** The item's position in the bag, which the bag writes. */
  bagPlace: number
}

/**
 * An unordered collection that each request joins and leaves. A `Set` would keep garbage alive. When a `Set` grows or
 * is rebuilt, V8 leaves the old table pointing to the next one; once such a table is in the old space, all requests in
 * its successors are moved there too, long after their end.
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

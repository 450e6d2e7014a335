import type { ItemPlace, OutputItem } from './output-item.ts'

const ADDED = 'response.output_item.added'
const DONE = 'response.output_item.done'

/**
 * An item that only its provider's protocol has. The item and its events pass unchanged, with our position and number.
 */
export class NativeItem implements OutputItem {
  readonly #place: ItemPlace
  #item: Readonly<Record<string, unknown>>
  #isOpen = true

  constructor(place: ItemPlace, item: Readonly<Record<string, unknown>>) {
    this.#place = place
    this.#item = item
    place.emit(ADDED, { output_index: place.index, item })
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** One of its events; the event of its addition has been sent already. */
  pass({ type, item, ...fields }: Readonly<Record<string, unknown>>): void {
    if (!this.#isOpen || typeof type !== 'string' || type === ADDED) return
    if (type !== DONE) return this.#place.emit(type, { ...fields, output_index: this.#place.index })
    // An item's event contains the item: `nativeItem` has checked that.
    this.#item = item as Readonly<Record<string, unknown>>
    this.close()
  }

  close(): void {
    this.#isOpen = false
    this.#place.emit(DONE, { output_index: this.#place.index, item: this.#item })
  }

  body(): Record<string, unknown> {
    return { ...this.#item }
  }
}

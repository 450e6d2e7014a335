/** Sends one event of the stream; the writer numbers it. */
export type Emit = (type: string, fields: Readonly<Record<string, unknown>>) => void

/** The position of an item in its answer. */
export interface ItemPlace {
  readonly id: string
  /** `output_index`. */
  readonly index: number
  readonly emit: Emit
}

type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

/** One element of `output`. */
export interface OutputItem {
  readonly isOpen: boolean
  /** Its current state. */
  body(): Record<string, unknown>
  close(status: 'completed' | 'incomplete'): void
}

/** An item that this server writes: it says that it was added, what comes to it, and that it is done. */
export abstract class WrittenItem implements OutputItem {
  protected readonly id: string
  protected status: ItemStatus = 'in_progress'
  readonly #place: ItemPlace

  constructor(place: ItemPlace) {
    this.id = place.id
    this.#place = place
  }

  abstract body(): Record<string, unknown>
  /** Its last events before it is done. */
  protected abstract finish(): void

  get isOpen(): boolean {
    return this.status === 'in_progress'
  }

  close(status: 'completed' | 'incomplete'): void {
    this.finish()
    this.status = status
    this.#place.emit('response.output_item.done', { output_index: this.#place.index, item: this.body() })
  }

  /** To be called when the item has all its fields. */
  protected begin(): void {
    this.#place.emit('response.output_item.added', { output_index: this.#place.index, item: this.body() })
  }

  protected emit(type: string, fields: Readonly<Record<string, unknown>>): void {
    this.#place.emit(`response.${type}`, { item_id: this.id, output_index: this.#place.index, ...fields })
  }
}

import type { ItemPlace, ItemStatus, OutputItem } from './output-item.ts'

/** The model's reasoning, in the parts of a summary. */
export class ReasoningItem implements OutputItem {
  readonly type = 'reasoning'
  readonly #place: ItemPlace
  readonly #parts: string[] = []
  #fields: Readonly<Record<string, unknown>> = {}
  #status: ItemStatus = 'in_progress'

  constructor(place: ItemPlace) {
    this.#place = place
    place.emit('response.output_item.added', { output_index: place.index, item: this.body() })
  }

  get isOpen(): boolean {
    return this.#status === 'in_progress'
  }

  add(text: string, isNewPart: boolean): void {
    if (this.#parts.length === 0 || isNewPart) {
      this.#closePart()
      this.#parts.push('')
      this.#emit('response.reasoning_summary_part.added', { part: { type: 'summary_text', text: '' } })
    }
    this.#parts[this.#parts.length - 1] += text
    this.#emit('response.reasoning_summary_text.delta', { delta: text })
  }

  /** Fields known at its end, such as `encrypted_content`; a late one is still in the complete answer. */
  describe(fields: Readonly<Record<string, unknown>>): void {
    this.#fields = { ...this.#fields, ...fields }
  }

  close(status: 'completed' | 'incomplete'): void {
    this.#closePart()
    this.#status = status
    this.#place.emit('response.output_item.done', { output_index: this.#place.index, item: this.body() })
  }

  body(): Record<string, unknown> {
    return {
      type: 'reasoning',
      id: this.#place.id,
      summary: this.#parts.map(summaryPart),
      ...this.#fields,
      status: this.#status,
    }
  }

  #closePart(): void {
    const text = this.#parts.at(-1)
    if (text === undefined) return
    this.#emit('response.reasoning_summary_text.done', { text })
    this.#emit('response.reasoning_summary_part.done', { part: summaryPart(text) })
  }

  #emit(type: string, fields: Readonly<Record<string, unknown>>): void {
    this.#place.emit(type, {
      item_id: this.#place.id,
      output_index: this.#place.index,
      summary_index: this.#parts.length - 1,
      ...fields,
    })
  }
}

function summaryPart(text: string): Record<string, unknown> {
  return { type: 'summary_text', text }
}

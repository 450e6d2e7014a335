import { GrownText } from '../../../kinds/answer/grown-text.ts'
import { WrittenItem, type ItemPlace } from './output-item.ts'

/** The model's reasoning, in the parts of a summary. */
export class ReasoningItem extends WrittenItem {
  readonly #parts: GrownText[] = []
  #fields: Readonly<Record<string, unknown>> = {}

  constructor(place: ItemPlace) {
    super(place)
    this.begin()
  }

  add(text: string, isNewPart: boolean): void {
    if (this.#parts.length === 0 || isNewPart) {
      this.#closePart()
      this.#parts.push(new GrownText())
      this.#emit('reasoning_summary_part.added', { part: { type: 'summary_text', text: '' } })
    }
    this.#parts.at(-1)?.add(text)
    this.#emit('reasoning_summary_text.delta', { delta: text })
  }

  /** Fields known at its end, such as `encrypted_content`; a late one is still in the complete answer. */
  describe(fields: Readonly<Record<string, unknown>>): void {
    this.#fields = { ...this.#fields, ...fields }
  }

  /** What it says, or null where its provider has signed or encrypted it. */
  unsigned(): string | null {
    return 'encrypted_content' in this.#fields ? null : this.#parts.map((part) => part.toString()).join('\n')
  }

  protected finish(): void {
    this.#closePart()
  }

  body(): Record<string, unknown> {
    return {
      type: 'reasoning',
      id: this.id,
      summary: this.#parts.map((part) => summaryPart(part.toString())),
      ...this.#fields,
      status: this.status,
    }
  }

  #closePart(): void {
    const text = this.#parts.at(-1)?.toString()
    if (text === undefined) return
    this.#emit('reasoning_summary_text.done', { text })
    this.#emit('reasoning_summary_part.done', { part: summaryPart(text) })
  }

  #emit(type: string, fields: Readonly<Record<string, unknown>>): void {
    this.emit(type, { summary_index: this.#parts.length - 1, ...fields })
  }
}

function summaryPart(text: string): Record<string, unknown> {
  return { type: 'summary_text', text }
}

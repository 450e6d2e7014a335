import { GrownText } from '../../../kinds/answer/grown-text.ts'
import { WrittenItem, type ItemPlace } from './output-item.ts'

type OutputPart =
  | { readonly type: 'output_text'; readonly text: GrownText; readonly annotations: unknown[] }
  | { readonly type: 'refusal'; readonly text: GrownText }

/** The model's message: its text, and a refusal in a separate part. */
export class MessageItem extends WrittenItem {
  readonly #fields: Readonly<Record<string, unknown>>
  readonly #parts: OutputPart[] = []

  /** `fields` are a native provider's facts about it, such as `phase`. */
  constructor(place: ItemPlace, fields: Readonly<Record<string, unknown>>) {
    super(place)
    this.#fields = fields
    this.begin()
  }

  add(type: OutputPart['type'], text: string): void {
    const part = this.#partOf(type)
    if (text === '') return
    part.text.add(text)
    if (type === 'output_text') this.#emit('output_text.delta', { delta: text, logprobs: [] })
    else this.#emit('refusal.delta', { delta: text })
  }

  annotate(annotations: readonly unknown[]): void {
    const part = this.#partOf('output_text')
    if (part.type !== 'output_text') return
    for (const annotation of annotations) {
      this.#emit('output_text.annotation.added', { annotation_index: part.annotations.length, annotation })
      part.annotations.push(annotation)
    }
  }

  protected finish(): void {
    this.#closePart()
  }

  body(): Record<string, unknown> {
    return {
      type: 'message',
      id: this.id,
      role: 'assistant',
      status: this.status,
      content: this.#parts.map(partBody),
      ...this.#fields,
    }
  }

  #partOf(type: OutputPart['type']): OutputPart {
    const last = this.#parts.at(-1)
    if (last?.type === type) return last
    this.#closePart()
    const part: OutputPart =
      type === 'output_text' ? { type, text: new GrownText(), annotations: [] } : { type, text: new GrownText() }
    this.#parts.push(part)
    this.#emit('content_part.added', { part: partBody(part) })
    return part
  }

  #closePart(): void {
    const part = this.#parts.at(-1)
    if (part === undefined) return
    if (part.type === 'output_text') this.#emit('output_text.done', { text: part.text.toString(), logprobs: [] })
    else this.#emit('refusal.done', { refusal: part.text.toString() })
    this.#emit('content_part.done', { part: partBody(part) })
  }

  #emit(type: string, fields: Readonly<Record<string, unknown>>): void {
    this.emit(type, { content_index: this.#parts.length - 1, ...fields })
  }
}

function partBody(part: OutputPart): Record<string, unknown> {
  const text = part.text.toString()
  return part.type === 'output_text'
    ? { type: part.type, text, annotations: [...part.annotations], logprobs: [] }
    : { type: part.type, refusal: text }
}

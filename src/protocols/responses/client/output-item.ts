import { GrownText } from '../../../kinds/answer/grown-text.ts'

/** Sends one event of the stream; the writer adds its number. */
export type Emit = (type: string, fields: Readonly<Record<string, unknown>>) => void

/** The position of an item in its answer. */
export interface ItemPlace {
  readonly id: string
  /** The value of `output_index`. */
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

/** An item that this server writes. Its events say that it was added, what is added to it, and that it is done. */
export abstract class WrittenItem implements OutputItem {
  protected readonly id: string
  protected status: ItemStatus = 'in_progress'
  readonly #place: ItemPlace

  constructor(place: ItemPlace) {
    this.id = place.id
    this.#place = place
  }

  abstract body(): Record<string, unknown>
  /** Sends its last events before it is done. */
  protected abstract finish(): void

  get isOpen(): boolean {
    return this.status === 'in_progress'
  }

  close(status: 'completed' | 'incomplete'): void {
    this.finish()
    this.status = status
    this.#place.emit('response.output_item.done', { output_index: this.#place.index, item: this.body() })
  }

  /** Must be called when the item has all its fields. */
  protected begin(): void {
    this.#place.emit('response.output_item.added', { output_index: this.#place.index, item: this.body() })
  }

  protected emit(type: string, fields: Readonly<Record<string, unknown>>): void {
    this.#place.emit(`response.${type}`, { item_id: this.id, output_index: this.#place.index, ...fields })
  }
}

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

  /** Passes on one of its events; the event that adds the item has been sent already. */
  pass({ type, item, ...fields }: Readonly<Record<string, unknown>>): void {
    if (!this.#isOpen || typeof type !== 'string' || type === ADDED) return
    if (type !== DONE) return this.#place.emit(type, { ...fields, output_index: this.#place.index })
    // An event about an item contains the item, as `nativeItem` has checked.
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

  /** Sets fields known only at its end, such as `encrypted_content`; a late field is still in the complete answer. */
  describe(fields: Readonly<Record<string, unknown>>): void {
    this.#fields = { ...this.#fields, ...fields }
  }

  /** Its text; null = its provider has signed or encrypted it. */
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

type OutputPart =
  | { readonly type: 'output_text'; readonly text: GrownText; readonly annotations: unknown[] }
  | { readonly type: 'refusal'; readonly text: GrownText }

/** The model's message: its text, and a refusal in a separate part. */
export class MessageItem extends WrittenItem {
  readonly #fields: Readonly<Record<string, unknown>>
  readonly #parts: OutputPart[] = []

  /** `fields` are facts about the message from a native provider, such as `phase`. */
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

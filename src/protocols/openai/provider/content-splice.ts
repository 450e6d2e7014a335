import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import type { TextAround } from '../client/chat/writer.ts'
import { jsonTextEnd } from '../../../base/json-text.ts'
import { listOf, objectOf, type RawJson } from '../../wire/raw-json.ts'
import { decoded, isAt, jsonText, runText, textPlace, textRun, textStart } from '../../wire/text-form.ts'

const SPACE = 32
const QUOTE = 34
const ASCII_MAX = 127
const BACKSLASH = 92
/** The field of a delta that holds its text, and our name for it. */
const TEXT_FIELDS: ReadonlyMap<string, 'content' | 'reasoning'> = new Map([
  ['content', 'content'],
  ['reasoning', 'reasoning'],
  ['reasoning_content', 'reasoning'],
])
/** Random padding that OpenAI and Mistral add beside the choices, of different length in each chunk. */
const PADDINGS = ['obfuscation', 'p']
const PADDING_BYTES_MAX = 1_024
/** How providers frame an event of a run. An event that is framed in another way is not part of a run. */
const EVENT_START = Buffer.from('data: ')
const EVENT_END = Buffer.from('\n\n')

/** The bytes around the text in one form of chunk, and our replacements. */
interface Form {
  readonly head: Buffer
  readonly tail: Buffer
  /** The bytes after the padding, which follows `tail`; null = a chunk ends with `tail`. */
  readonly end: Buffer | null
  readonly field: 'content' | 'reasoning'
  /** null: the client reads another format. */
  readonly around: TextAround | null
  /** The same with the framing of its event; null where chunks have padding. */
  readonly framed: { readonly head: Buffer; readonly tail: Buffer } | null
}

/** Events of the learned form that stand one behind another, as one. */
export interface SplicedRun {
  readonly event: AnswerEvent
  /** Where the next event begins. */
  readonly end: number
}

/** The bytes around the text in a client's chunk, by the text's field; null for a client that reads another format. */
type Surroundings = ((field: 'content' | 'reasoning') => TextAround) | null

/**
 * The streaming fast path. The first ordinary chunk of text is parsed, and gives the bytes around the text. Later
 * chunks that differ only in their text are recognised by comparison, and the text is spliced between our own head and
 * tail. Only the JSON text of the upstream passes through; head and tail are ours. For a client that reads another
 * format the texts of a run are one event.
 */
export class ContentSplice {
  readonly #around: Surroundings
  #form: Form | null = null

  constructor(around: Surroundings) {
    this.#around = around
  }

  /** The client's chunk for an upstream event of the learned form; null for other forms. */
  take(data: Buffer): AnswerEvent | null {
    const form = this.#form
    if (form === null) return null
    const { head, tail } = form
    const end = form.end === null ? data.length - tail.length : paddedTextEnd(data, tail, form.end)
    if (end <= head.length || data.compare(head, 0, head.length, 0, head.length) !== 0) return null
    if (form.end === null && data.compare(tail, 0, tail.length, end) !== 0) return null
    const content = data.subarray(head.length, end)
    const text = jsonText(content)
    if (text === null) return null
    const { around, field } = form
    return around === null
      ? saidEvent(field, text)
      : { type: 'spliced', bytes: [around.before, content, around.after], field, text }
  }

  /** The client's chunks for the whole events of the learned form that begin at `start`; null where none does. */
  run(bytes: Buffer, start: number): SplicedRun | null {
    const form = this.#form
    const framed = form?.framed ?? null
    if (form === null || framed === null) return null
    const { head, tail } = framed
    const run = textRun(bytes, start, head, (read, at) => (isAt(read, at, tail) ? at + tail.length : -1))
    if (run === null) return null
    const { around, field } = form
    const texts = runText(bytes, run.places)
    if (around === null) return { event: saidEvent(field, decoded(texts)), end: run.end }
    const count = run.places.length / 2
    const chunks = Buffer.allocUnsafe((around.before.length + around.after.length) * count + texts.length)
    let written = 0
    let textsAt = 0
    for (let place = 0; place < run.places.length; place += 2) {
      chunks.set(around.before, written)
      written += around.before.length
      const length = (run.places[place + 1] ?? 0) - (run.places[place] ?? 0)
      for (const to = textsAt + length; textsAt < to; textsAt += 1, written += 1) chunks[written] = texts[textsAt] ?? 0
      chunks.set(around.after, written)
      written += around.after.length
    }
    return { event: { type: 'spliced', bytes: [chunks], field, text: decoded(texts) }, end: run.end }
  }

  /** Learns the form of a parsed chunk that has one choice, one text in its delta, and nothing else for the client. */
  learn(data: Buffer, chunk: RawJson): void {
    const field = textField(chunk)
    if (field === null) return
    const place = textPlace(data, field.name, field.text)
    if (place === null) return
    const { start, end: close } = place
    const ours = TEXT_FIELDS.get(field.name) ?? 'content'
    const padding = PADDINGS.find((name) => typeof chunk[name] === 'string')
    const paddingStart = padding === undefined ? -1 : textStart(data, padding)
    // Padding before the text, or padding that cannot be found, makes each head different: nothing can be learned.
    if (padding !== undefined && paddingStart < close) return
    const paddingEnd = padding === undefined ? -1 : jsonTextEnd(data, paddingStart)
    // Copied, since a slice would keep the whole network read in memory.
    const head = Buffer.from(data.subarray(0, start))
    const tail = Buffer.from(data.subarray(close, padding === undefined ? data.length : paddingStart))
    this.#form = {
      head,
      tail,
      end: padding === undefined ? null : Buffer.from(data.subarray(paddingEnd)),
      field: ours,
      around: this.#around?.(ours) ?? null,
      framed:
        padding === undefined
          ? { head: Buffer.concat([EVENT_START, head]), tail: Buffer.concat([tail, EVENT_END]) }
          : null,
    }
  }
}

/** The event of a parsed chunk with this text. */
function saidEvent(field: 'content' | 'reasoning', text: string): AnswerEvent {
  return { type: field === 'content' ? 'text' : 'reasoning', choice: 0, text }
}

/** The only text of a chunk that could be spliced; null where the chunk has other content. */
function textField(chunk: RawJson): { readonly name: string; readonly text: string } | null {
  const choices = listOf(chunk['choices'])
  const choice = objectOf(choices[0])
  const delta = objectOf(choice?.['delta'])
  if (choices.length !== 1 || choice === null || delta === null || (chunk['usage'] ?? null) !== null) return null
  if ((choice['index'] ?? 0) !== 0 || choice['finish_reason'] || choice['logprobs']) return null
  const said = Object.entries(delta).filter(
    ([name, value]) =>
      name !== 'role' && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0),
  )
  const [name, text] = said[0] ?? []
  return said.length === 1 && name !== undefined && TEXT_FIELDS.has(name) && typeof text === 'string'
    ? { name, text }
    : null
}

/** The end of the text in a chunk with padding behind it; -1 for another form. */
function paddedTextEnd(data: Buffer, tail: Buffer, end: Buffer): number {
  const at = data.lastIndexOf(tail)
  const from = at + tail.length
  const to = data.length - end.length
  if (at === -1 || to < from || to - from > PADDING_BYTES_MAX || data.compare(end, 0, end.length, to) !== 0) return -1
  for (let index = from; index < to; index += 1) if (!isPadding(data[index] ?? 0)) return -1
  return at
}

/** Letters, digits and the like, which cannot end the text and begin another field. */
function isPadding(byte: number): boolean {
  return byte >= SPACE && byte < ASCII_MAX && byte !== QUOTE && byte !== BACKSLASH
}

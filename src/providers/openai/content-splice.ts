import { isUtf8 } from 'node:buffer'
import type { AnswerEvent } from '../../kinds/answer/event.ts'
import type { TextAround } from '../../kinds/chat/chunk.ts'
import { jsonTextEnd } from '../../lib/json-text.ts'
import { listOf, objectOf, type RawJson } from '../wire/raw-json.ts'

const SPACE = 32
const QUOTE = 34
const ASCII_MAX = 127
const BACKSLASH = 92
const LETTER_U = 117
/** The bytes that may follow a backslash: " \ / b f n r t u */
const ESCAPES: ReadonlySet<number> = new Set([34, 92, 47, 98, 102, 110, 114, 116, 117])
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
/** A longer text is not part of a run; the limits of an event apply to it. */
const RUN_TEXT_BYTES_MAX = 65_536

/** The bytes around the text in one form of chunk, and our replacements. */
interface Form {
  readonly head: Buffer
  readonly tail: Buffer
  /** The bytes after the padding, which follows `tail`; null = a chunk ends with `tail`. */
  readonly end: Buffer | null
  readonly field: 'content' | 'reasoning'
  readonly around: TextAround
  /** The same with the framing of its event; null where chunks have padding. */
  readonly framed: { readonly head: Buffer; readonly tail: Buffer } | null
}

/** Events of the learned form that stand one behind another, as one. */
export interface SplicedRun {
  readonly event: AnswerEvent
  /** Where the next event begins. */
  readonly end: number
}

/** The bytes around the text in a client's chunk, by the text's field. */
type Surroundings = (field: 'content' | 'reasoning') => TextAround

/**
 * The streaming fast path. The first ordinary chunk of text is parsed, and gives the bytes around the text. Later
 * chunks that differ only in their text are recognised by comparison, and the text is spliced between our own head and
 * tail. Only the JSON text of the upstream passes through; head and tail are ours.
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
    const text = jsonTextOf(content)
    return text === null
      ? null
      : { type: 'spliced', bytes: [form.around.before, content, form.around.after], field: form.field, text }
  }

  /** The client's chunks for the whole events of the learned form that begin at `start`; null where none does. */
  run(bytes: Buffer, start: number): SplicedRun | null {
    const form = this.#form
    const framed = form?.framed ?? null
    if (form === null || framed === null) return null
    const { head, tail } = framed
    /** Where each text begins and ends. */
    const places: number[] = []
    let end = start
    let textBytes = 0
    while (isAt(bytes, end, head)) {
      const from = end + head.length
      const to = plainTextEnd(bytes, from)
      if (to === -1 || !isAt(bytes, to, tail)) break
      places.push(from, to)
      textBytes += to - from
      end = to + tail.length
    }
    if (places.length === 0) return null
    const { around, field } = form
    const texts = Buffer.allocUnsafe(textBytes)
    const chunks = Buffer.allocUnsafe((around.before.length + around.after.length) * (places.length / 2) + textBytes)
    let written = 0
    let textsAt = 0
    for (let place = 0; place < places.length; place += 2) {
      chunks.set(around.before, written)
      written += around.before.length
      for (let at = places[place] ?? 0, to = places[place + 1] ?? 0; at < to; at += 1) {
        const byte = bytes[at] ?? 0
        chunks[written] = byte
        texts[textsAt] = byte
        written += 1
        textsAt += 1
      }
      chunks.set(around.after, written)
      written += around.after.length
    }
    return { event: { type: 'spliced', bytes: [chunks], field, text: texts.toString('utf8') }, end }
  }

  /** Learns the form of a parsed chunk that has one choice, one text in its delta, and nothing else for the client. */
  learn(data: Buffer, chunk: RawJson): void {
    const field = textField(chunk)
    if (field === null) return
    const start = valueStart(data, field.name)
    const close = start === -1 ? -1 : jsonTextEnd(data, start)
    if (close === -1 || jsonTextOf(data.subarray(start, close)) !== field.text) return
    const ours = TEXT_FIELDS.get(field.name) ?? 'content'
    const padding = PADDINGS.find((name) => typeof chunk[name] === 'string')
    const paddingStart = padding === undefined ? -1 : valueStart(data, padding)
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
      around: this.#around(ours),
      framed:
        padding === undefined
          ? { head: Buffer.concat([EVENT_START, head]), tail: Buffer.concat([tail, EVENT_END]) }
          : null,
    }
  }
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

/**
 * The start of a key's text; -1 unless the key occurs exactly once, since another field's text could be cut out
 * otherwise.
 */
function valueStart(data: Buffer, key: string): number {
  const quoted = Buffer.from(`"${key}"`)
  const at = data.indexOf(quoted)
  if (at === -1 || data.indexOf(quoted, at + quoted.length) !== -1) return -1
  const [between] = /^\s*:\s*"/.exec(data.toString('latin1', at + quoted.length, at + quoted.length + 16)) ?? []
  return between === undefined ? -1 : at + quoted.length + between.length
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

function isAt(bytes: Buffer, at: number, wanted: Buffer): boolean {
  return bytes.length - at >= wanted.length && bytes.compare(wanted, 0, wanted.length, at, at + wanted.length) === 0
}

/** Where a text without escapes ends, which stands for itself; -1 for any other. */
function plainTextEnd(bytes: Buffer, from: number): number {
  let isAscii = true
  const end = Math.min(bytes.length, from + RUN_TEXT_BYTES_MAX)
  for (let at = from; at < end; at += 1) {
    const byte = bytes[at] ?? 0
    if (byte === QUOTE) return isAscii || isUtf8(bytes.subarray(from, at)) ? at : -1
    if (byte < SPACE || byte === BACKSLASH) return -1
    if (byte > ASCII_MAX) isAscii = false
  }
  return -1
}

/** The decoded text if the bytes are the inside of one JSON string, else null. */
function jsonTextOf(content: Buffer): string | null {
  let isAscii = true
  let hasEscape = false
  for (let index = 0; index < content.length; index += 1) {
    const byte = content[index] ?? 0
    if (byte < SPACE || byte === QUOTE) return null
    if (byte > ASCII_MAX) isAscii = false
    if (byte !== BACKSLASH) continue
    hasEscape = true
    const escaped = content[index + 1]
    if (escaped === undefined || !ESCAPES.has(escaped)) return null
    // Checks the four digits of \u too: a broken escape must not reach the client's parser.
    if (escaped === LETTER_U && !/^[0-9a-fA-F]{4}$/.test(content.toString('latin1', index + 2, index + 6))) return null
    index += escaped === LETTER_U ? 5 : 1
  }
  // Broken UTF-8 takes the slow way, which replaces it: a client's decoder might refuse it.
  if (!isAscii && !isUtf8(content)) return null
  const text = isAscii ? content.toString('latin1') : content.toString('utf8')
  // Counting needs the text and not its spelling: `\u0416` is one letter, not six. The checks above make sure that it
  // parses.
  return hasEscape ? String(JSON.parse(`"${text}"`)) : text
}

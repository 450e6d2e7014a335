import type { ChunkIdentity } from '../kinds/chat-answer.ts'
import { contentAround } from './chat-chunk.ts'
import { listOf, objectOf, type RawJson } from './raw-json.ts'

const QUOTE = 34
const BACKSLASH = 92
const CONTENT = Buffer.from('"content":"')

/**
 * The streaming fast path: once an ordinary content chunk was parsed, the bytes around its text are known, and further
 * chunks that differ in the text alone are recognised by comparison and spliced between our own head and tail.
 * Nothing of the upstream but the JSON text itself gets through, for head and tail are ours.
 */
export class ContentSplice {
  readonly #before: Buffer
  readonly #after: Buffer
  #head: Buffer | null = null
  #tail: Buffer | null = null

  constructor(identity: ChunkIdentity) {
    const { before, after } = contentAround(identity)
    this.#before = before
    this.#after = after
  }

  /** The client's chunk for an upstream event of the learned form, else null. */
  take(data: Buffer): { readonly bytes: readonly Buffer[]; readonly text: string } | null {
    const head = this.#head
    const tail = this.#tail
    if (head === null || tail === null) return null
    const end = data.length - tail.length
    if (end <= head.length || data.compare(head, 0, head.length, 0, head.length) !== 0 || data.compare(tail, 0, tail.length, end) !== 0) return null
    const content = data.subarray(head.length, end)
    if (!isJsonText(content)) return null
    return { bytes: [this.#before, content, this.#after], text: content.toString('utf8') }
  }

  /** Learns from a parsed chunk: one choice, nothing in its delta but text, nothing else that a client should see. */
  learn(data: Buffer, chunk: RawJson): void {
    this.#head = null
    const choices = listOf(chunk['choices'])
    const choice = objectOf(choices[0])
    const delta = objectOf(choice?.['delta'])
    const content = delta?.['content']
    if (choices.length !== 1 || choice === null || delta === null || typeof content !== 'string' || content === '') return
    if ((choice['index'] ?? 0) !== 0 || choice['finish_reason'] || choice['logprobs'] || (chunk['usage'] ?? null) !== null) return
    if (Object.entries(delta).some(([name, value]) => name !== 'content' && name !== 'role' && value !== null && value !== '')) return
    const at = data.indexOf(CONTENT)
    const start = at + CONTENT.length
    // The key must stand once, or the text cut out would be another field's.
    if (at === -1 || data.indexOf(CONTENT, start) !== -1) return
    const end = textEnd(data, start)
    if (end === -1) return
    this.#head = Buffer.from(data.subarray(0, start))
    this.#tail = Buffer.from(data.subarray(end))
  }
}

/** Index of the quote that closes a JSON text beginning at `start`; -1 without one. */
function textEnd(data: Buffer, start: number): number {
  for (let quote = data.indexOf(QUOTE, start); quote !== -1; quote = data.indexOf(QUOTE, quote + 1)) {
    let slashes = 0
    while (quote - 1 - slashes >= start && data[quote - 1 - slashes] === BACKSLASH) slashes += 1
    if (slashes % 2 === 0) return quote
  }
  return -1
}

/** Whether the bytes are the inside of one JSON text: no closing quote within, no lone backslash at the end, no control characters. */
function isJsonText(content: Buffer): boolean {
  for (let index = 0; index < content.length; index += 1) {
    const byte = content[index] ?? 0
    if (byte < 32 || byte === QUOTE) return false
    if (byte !== BACKSLASH) continue
    const escaped = content[index + 1]
    if (escaped === undefined) return false
    // The four digits of \u are checked too: a broken escape must not reach the client's parser.
    if (escaped === 117 && !/^[0-9a-fA-F]{4}$/.test(content.toString('latin1', index + 2, index + 6))) return false
    if (!ESCAPES.has(escaped)) return false
    index += escaped === 117 ? 5 : 1
  }
  return true
}

/** What may follow a backslash: " \ / b f n r t u */
const ESCAPES: ReadonlySet<number> = new Set([34, 92, 47, 98, 102, 110, 114, 116, 117])

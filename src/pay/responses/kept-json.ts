import { setImmediate as nextTurn } from 'node:timers/promises'
import { isObject } from '../../kinds/fields/body-fields.ts'
import { BODY_LIMITS, JsonScan } from '../../base/json-scan.ts'
import type { JsonObject } from '../../base/json-text.ts'

/** The bytes that are read in one turn of the event loop, which take a few milliseconds. */
const TURN_BYTES = 1_048_576
export const LINE_END = 0x0a
const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const OPEN = new Set([0x5b, 0x7b])
const CLOSE = new Set([0x5d, 0x7d])

/** The elements of a JSON array that we wrote, with turns for other work in between. */
export async function* elementsOf(json: Buffer): AsyncGenerator<Buffer> {
  let depth = 0
  let from = 1
  let pausedAt = 0
  let isText = false
  for (let at = 1; at < json.length; at += 1) {
    const byte = json[at] ?? 0
    if (isText) {
      if (byte === BACKSLASH) at += 1
      else if (byte === QUOTE) isText = false
    } else if (byte === QUOTE) isText = true
    else if (OPEN.has(byte)) depth += 1
    else if (depth > 0 && CLOSE.has(byte)) depth -= 1
    else if (depth === 0 && (byte === COMMA || CLOSE.has(byte))) {
      if (at > from) yield json.subarray(from, at)
      from = at + 1
    }
    if (at - pausedAt < TURN_BYTES) continue
    pausedAt = at
    await nextTurn()
  }
}

/** The objects among the elements. Parsing 9 MB at once would delay all other work. */
export async function* itemsIn(json: Buffer): AsyncGenerator<JsonObject> {
  for await (const element of elementsOf(json)) {
    const item: unknown = JSON.parse(element.toString('utf8'))
    if (isObject(item)) yield item
    if (element.length >= TURN_BYTES) await nextTurn()
  }
}

/** Why a text exceeds the limits of a request; null = it does not. */
export async function excessOf(json: Buffer): Promise<string | null> {
  const scan = new JsonScan(BODY_LIMITS)
  for (let at = 0; at < json.length; at += TURN_BYTES) {
    const excess = scan.whole(json.subarray(at, at + TURN_BYTES))
    if (excess !== null) return excess
    if (at > 0) await nextTurn()
  }
  return null
}

/** The input items of a turn, each with an id. */
export async function* listedInput({
  id,
  input,
}: {
  readonly id: string
  readonly input: Buffer
}): AsyncGenerator<JsonObject> {
  let index = 0
  for await (const item of itemsIn(input)) yield listed(item, `msg-${id.slice(4)}-in${index++}`)
}

/** An item in OpenAI's list form: with an id, and its content in parts. */
function listed(item: JsonObject, id: string): JsonObject {
  const { role, content } = item
  const own = typeof item['id'] === 'string' && item['id'] !== '' ? {} : { id }
  if (typeof role !== 'string') return { ...own, ...item }
  const type = role === 'assistant' ? 'output_text' : 'input_text'
  const parts =
    typeof content === 'string'
      ? [{ type, text: content, ...(type === 'output_text' ? { annotations: [] } : {}) }]
      : content
  return { ...own, type: 'message', status: 'completed', ...item, content: parts }
}

/**
 * Writes the Response without its output on one line of JSON, and the output after it, so that a conversation need not
 * read the rest.
 */
export function writeAnswer({ output, ...head }: JsonObject): Buffer {
  return Buffer.from(`${JSON.stringify(head)}\n${JSON.stringify(output)}`)
}

/** Reads what `writeAnswer` wrote. */
export function readAnswer(written: Buffer): JsonObject {
  const end = written.indexOf(LINE_END)
  // Written by `writeAnswer`, and then encrypted.
  const head = JSON.parse(written.subarray(0, end).toString('utf8')) as JsonObject
  const output: unknown = JSON.parse(written.subarray(end + 1).toString('utf8'))
  return { ...head, output: Array.isArray(output) ? output.filter(isObject) : [] }
}

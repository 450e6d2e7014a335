import { listOf, objectOf, parseJson, textOf, type RawJson } from '../../wire/raw-json.ts'
import { decoded, isAt, runText, textPlace, textRun, textStart } from '../../wire/text-form.ts'

const ZERO = 0x30
const NINE = 0x39
const USAGE = Buffer.from('"usageMetadata"')
const EVENT_START = Buffer.from('data: ')
const EVENT_ENDS = [Buffer.from('\r\n\r\n'), Buffer.from('\n\n')]

interface ChunkForm {
  /** The bytes before the text, including the framing of the event. */
  readonly head: Buffer
  /** The bytes between the text and the usage. */
  readonly tail: Buffer
  /** The usage up to the name of the model; its numbers may differ. */
  readonly usage: Buffer
  /** The bytes from the name of the model on: the provider's, and ours for a client of the protocol. */
  readonly names: Buffer
  readonly ours: Buffer | null
}

/** Consecutive chunks that differ from the last parsed one only in their text and usage, taken together. */
export interface ChunkRun {
  /** The last of them, with the text of all: its usage counts from the beginning. */
  readonly chunk: RawJson
  /** The bytes of each with our names; empty for a client of another protocol. */
  readonly sent: readonly Buffer[]
  /** The index at which the next event begins. */
  readonly end: number
}

/**
 * Recognises chunks of text by their bytes; a client of the protocol gets them with our names in place of the
 * provider's.
 */
export class KnownChunk {
  #form: ChunkForm | null = null

  /** `owned` is the chunk with our names; null = the client has another protocol. */
  learn(data: Buffer, chunk: RawJson, owned: RawJson | null): void {
    const text = onlyText(chunk)
    const place = text === null ? null : textPlace(data, 'text', text)
    const model = textStart(data, 'modelVersion')
    const id = textStart(data, 'responseId')
    if (place === null || model < place.end || id < model) return
    const usage = data.indexOf(USAGE, place.end)
    const usageAt = usage === -1 || usage > model ? model : usage
    const names = data.subarray(model)
    const modelEnd = Buffer.byteLength(inside(chunk['modelVersion']))
    const idEnd = id - model + Buffer.byteLength(inside(chunk['responseId']))
    // Names that are spelled differently from JSON.stringify's spelling are not learned.
    if (!isAt(names, 0, inside(chunk['modelVersion'])) || !isAt(names, id - model, inside(chunk['responseId']))) return
    this.#form = {
      head: Buffer.concat([EVENT_START, data.subarray(0, place.start)]),
      tail: Buffer.from(data.subarray(place.end, usageAt)),
      usage: Buffer.from(data.subarray(usageAt, model)),
      names: Buffer.from(names),
      ours:
        owned === null
          ? null
          : Buffer.concat([
              inside(owned['modelVersion']),
              names.subarray(modelEnd, id - model),
              inside(owned['responseId']),
              names.subarray(idEnd),
            ]),
    }
  }

  run(bytes: Buffer, start: number): ChunkRun | null {
    const form = this.#form
    if (form === null) return null
    const { head, tail, usage, names, ours } = form
    /** The index at which the names of each chunk begin. */
    const namesAt: number[] = []
    const run = textRun(bytes, start, head, (read, at) => {
      const end = isAt(read, at, tail) ? usageEnd(read, at + tail.length, usage) : -1
      if (end === -1 || !isAt(read, end, names)) return -1
      const framing = EVENT_ENDS.find((wanted) => isAt(read, end + names.length, wanted))
      if (framing === undefined) return -1
      namesAt.push(end)
      return end + names.length + framing.length
    })
    if (run === null) return null
    const starts = namesAt.map((_, index) => (run.places[index * 2] ?? 0) - head.length + EVENT_START.length)
    const last = namesAt.length - 1
    const chunk = objectOf(parseJson(bytes.subarray(starts[last], (namesAt[last] ?? 0) + names.length)))
    const part = chunk === null ? null : partOf(chunk)
    if (chunk === null || part === null) return null
    // The parsed chunk belongs only to this object, so it may be changed.
    Object.assign(part, { text: decoded(runText(bytes, run.places)) })
    return {
      chunk,
      sent: ours === null ? [] : namesAt.map((end, index) => Buffer.concat([bytes.subarray(starts[index], end), ours])),
      end: run.end,
    }
  }
}

/** The text of a chunk that has nothing else for the client. */
function onlyText(chunk: RawJson): string | null {
  const candidates = listOf(chunk['candidates'])
  const candidate = objectOf(candidates[0])
  const parts = listOf(objectOf(candidate?.['content'])?.['parts'])
  if (candidates.length !== 1 || parts.length !== 1 || (candidate?.['finishReason'] ?? null) !== null) return null
  // A signature is different each time.
  return partOf(chunk)?.['thoughtSignature'] === undefined ? textOf(partOf(chunk)?.['text']) : null
}

function partOf(chunk: RawJson): RawJson | null {
  const content = objectOf(objectOf(listOf(chunk['candidates'])[0])?.['content'])
  return objectOf(listOf(content?.['parts'])[0])
}

/** A text as in JSON, without its quotes. */
function inside(text: unknown): Buffer {
  return Buffer.from(JSON.stringify(text).slice(1, -1))
}

/** The end of a usage that differs from the learned one only in its numbers; -1 = it differs otherwise. */
function usageEnd(bytes: Buffer, start: number, learned: Buffer): number {
  let at = start
  let wanted = 0
  while (wanted < learned.length) {
    if (isDigit(learned[wanted])) {
      const from = at
      while (isDigit(learned[wanted])) wanted += 1
      while (isDigit(bytes[at])) at += 1
      if (at === from || (bytes[from] === ZERO && at - from > 1)) return -1
    } else {
      if (learned[wanted] !== bytes[at]) return -1
      wanted += 1
      at += 1
    }
  }
  return at
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE
}

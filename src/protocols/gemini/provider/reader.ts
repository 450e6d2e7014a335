import type { JsonBytes } from '../../../base/json-text.ts'
import { type AnswerEvent, tierEvents } from '../../../kinds/answer/event.ts'
import { type AttemptFailure, failure, garbage } from '../../ports/attempt-failure.ts'
import type { EventReader, KnownEvents } from '../../upstream/events.ts'
import type { AnswerState } from '../../upstream/response.ts'
import { type RawJson, listOf, objectOf, parseJson, textOf } from '../../wire/raw-json.ts'
import { decoded, isAt, runText, textPlace, textRun, textStart } from '../../wire/text-form.ts'
import { type UpstreamHeaders, headerOf } from '../../wire/transport.ts'
import { Candidate, type CandidateView } from './candidate.ts'
import { geminiErrorEvent, geminiUsage, isErrorBody } from './usage.ts'

/** More candidates than a request can ask for: a bound on what a broken upstream makes us hold in memory. */
const CANDIDATES_MAX = 128
/** A header in which the Gemini API also reports the tier. */
const TIER_HEADER = 'x-gemini-service-tier'
/** Gateways that also speak OpenAI's protocol end the streams of both in this way. */
const DONE = Buffer.from('[DONE]')

/** Reads one answer of `generateContent`. Every message of a stream has the form of a whole answer. */
export class GeminiReader implements EventReader {
  readonly #view: CandidateView
  readonly #chunk = new KnownChunk()
  readonly #candidates = new Map<number, Candidate>()
  /** Probabilities that were lifted out of a plain answer. */
  #lifted: readonly JsonBytes[] = []
  #isNamed = false
  #headTier: string | undefined
  #tier: unknown
  #isBlocked = false

  constructor(view: CandidateView) {
    this.#view = view
  }

  answered(headers: UpstreamHeaders): void {
    this.#headTier = headerOf(headers, TIER_HEADER)
  }

  /** There is no last message: usage may follow the last finish reason. */
  get state(): AnswerState {
    const isComplete = this.#isBlocked || (this.#candidates.size >= this.#view.candidates && this.#isFinished)
    return isComplete ? 'finished' : 'open'
  }

  known(bytes: Buffer, start: number): KnownEvents | null {
    const run = this.#chunk.run(bytes, start)
    return run === null ? null : { read: this.read(run.chunk), end: run.end }
  }

  message(data: Buffer): readonly AnswerEvent[] | AttemptFailure {
    if (data.equals(DONE)) return []
    const body = parseJson(data)
    const chunk = objectOf(body)
    if (chunk === null && isErrorBody(body)) return geminiErrorEvent(body)
    if (chunk === null) return garbage('not a JSON object', data)
    this.#chunk.learn(data, chunk, null)
    return this.read(chunk)
  }

  /** The same for a parsed message. */
  read(chunk: RawJson): readonly AnswerEvent[] | AttemptFailure {
    return isErrorBody(chunk) ? geminiErrorEvent(chunk) : this.#read(chunk)
  }

  /** A stream is complete if every candidate has its finish reason, or if the prompt was blocked. */
  ended(): AttemptFailure | null {
    if (this.#isBlocked) return null
    if (this.#candidates.size === 0) return failure('garbage', null, 'the stream ended without a candidate')
    return this.#isFinished ? null : failure('cut', null, 'the stream ended without a finishReason')
  }

  whole(body: unknown, lifted: readonly JsonBytes[] = []): readonly AnswerEvent[] | AttemptFailure {
    if (isErrorBody(body)) return geminiErrorEvent(body)
    const answer = objectOf(body)
    this.#lifted = lifted
    const read = this.#read(answer ?? {})
    if ('reason' in read) return read
    if (this.#candidates.size === 0 && !this.#isBlocked)
      return failure('garbage', null, 'the answer holds no candidate')
    return [...read, ...[...this.#candidates.values()].flatMap((candidate) => candidate.close())]
  }

  #read(chunk: RawJson): readonly AnswerEvent[] | AttemptFailure {
    const events: AnswerEvent[] = []
    const upstreamId = textOf(chunk['responseId'])
    if (!this.#isNamed && upstreamId !== null) {
      this.#isNamed = true
      events.push({ type: 'origin', upstreamId, systemFingerprint: null })
    }
    for (const [position, raw] of listOf(chunk['candidates']).entries()) {
      const read = this.#candidate(objectOf(raw) ?? {}, position)
      if (read === null)
        return failure(
          'garbage',
          null,
          'the answer holds more candidates or calls than any answer has, or calls in pieces that do not fit',
        )
      for (const event of read) events.push(event)
    }
    events.push(...this.#feedback(objectOf(chunk['promptFeedback'])))
    const metadata = objectOf(chunk['usageMetadata'])
    // The word of Vertex AI, or that of the Gemini API.
    const tier = metadata?.['trafficType'] ?? metadata?.['serviceTier'] ?? this.#tier ?? this.#headTier
    if (tier !== this.#tier) events.push(...tierEvents(tier))
    this.#tier = tier
    const usage = geminiUsage(metadata, this.#searches())
    if (usage !== null) events.push({ type: 'usage', usage })
    return events
  }

  /** null = unknown before the end, or searches were not possible. */
  #searches(): number | null {
    if (this.#view.billsSearch === null) return null
    if (!this.#isFinished) return null
    const candidates = [...this.#candidates.values()]
    if (this.#view.billsSearch === 'request') return candidates.some(({ hasSearched }) => hasSearched) ? 1 : 0
    return new Set(candidates.flatMap(({ queries }) => [...queries])).size
  }

  /** Whether every candidate that came has its finish reason. */
  get #isFinished(): boolean {
    return [...this.#candidates.values()].every(({ finished }) => finished)
  }

  /** Reads one candidate; the wire leaves out an index of 0. */
  #candidate(raw: RawJson, position: number): readonly AnswerEvent[] | null {
    const given = raw['index']
    const index = typeof given === 'number' && Number.isSafeInteger(given) && given >= 0 ? given : position
    const known = this.#candidates.get(index)
    if (known !== undefined) return known.read(raw, this.#lifted)
    if (this.#candidates.size >= CANDIDATES_MAX) return null
    const candidate = new Candidate(this.#view, index)
    this.#candidates.set(index, candidate)
    return candidate.read(raw, this.#lifted)
  }

  /** Reads the feedback on a blocked prompt, which has no candidates: the finish reason is the whole answer. */
  #feedback(feedback: RawJson | null): readonly AnswerEvent[] {
    const native = textOf(feedback?.['blockReason'])
    const isBlocked = native !== null || textOf(feedback?.['blockReasonMessage']) !== null
    if (!isBlocked || this.#candidates.size > 0 || this.#isBlocked) return []
    this.#isBlocked = true
    return [{ type: 'finish', choice: 0, native, finish: 'content_filter' }]
  }
}

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

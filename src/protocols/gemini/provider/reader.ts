import { tierEvents, type AnswerEvent } from '../../../kinds/answer/event.ts'
import type { JsonBytes } from '../../../base/json-text.ts'
import { failure, garbage, type AttemptFailure } from '../../ports/attempt-failure.ts'
import type { EventReader, KnownEvents } from '../../upstream/events.ts'
import type { AnswerState } from '../../upstream/response.ts'
import { listOf, objectOf, parseJson, textOf, type RawJson } from '../../wire/raw-json.ts'
import { headerOf, type UpstreamHeaders } from '../../wire/transport.ts'
import { Candidate, type CandidateView } from './candidate.ts'
import { geminiErrorEvent, isErrorBody, geminiUsage } from './usage.ts'
import { KnownChunk } from './known-chunk.ts'

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

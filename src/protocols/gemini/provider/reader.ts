import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import type { JsonBytes } from '../../../base/json-text.ts'
import { failure, garbage, type AttemptFailure } from '../../../providers/ports/attempt-failure.ts'
import type { EventReader, KnownEvents } from '../../upstream/events.ts'
import { listOf, objectOf, parseJson, textOf, type RawJson } from '../../wire/raw-json.ts'
import type { UpstreamHeaders } from '../../wire/transport.ts'
import { Candidate, type CandidateView } from './candidate.ts'
import { geminiError, geminiErrorEvent, isErrorBody } from '../../../providers/gemini/error.ts'
import { KnownChunk } from './known-chunk.ts'
import { geminiUsage } from './usage.ts'

/** More candidates than a request can ask for: a bound on what a broken upstream makes us keep. */
const CANDIDATES_MAX = 128
/** Gateways that also speak OpenAI's protocol end both alike. */
const DONE = Buffer.from('[DONE]')

/** Reads one answer of `generateContent`. Every message of a stream has the shape of a whole answer. */
export class GeminiReader implements EventReader {
  readonly #view: CandidateView
  readonly #now: () => number
  readonly #chunk = new KnownChunk()
  readonly #candidates = new Map<number, Candidate>()
  /** Probabilities lifted out of a whole answer. */
  #lifted: readonly JsonBytes[] = []
  #isNamed = false
  #isBlocked = false

  constructor(view: CandidateView, now: () => number) {
    this.#view = view
    this.#now = now
  }

  /** There is no terminal marker: usage may follow the last finish reason. */
  get done(): boolean {
    return false
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

  /** A stream is complete when every candidate has its finish reason, or the prompt was blocked. */
  ended(): AttemptFailure | null {
    if (this.#isBlocked) return null
    if (this.#candidates.size === 0) return failure('garbage', null, 'the stream ended without a candidate')
    const isComplete = [...this.#candidates.values()].every((candidate) => candidate.finished)
    return isComplete ? null : failure('cut', null, 'the stream ended without a finishReason')
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

  error(status: number, body: unknown, headers: UpstreamHeaders): AttemptFailure {
    return geminiError(status, body, headers, this.#now())
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
    const usage = geminiUsage(chunk['usageMetadata'], this.#searches())
    if (usage !== null) events.push({ type: 'usage', usage })
    return events
  }

  /** null = not known before the end, or searches were not possible. */
  #searches(): number | null {
    if (this.#view.billsSearch === null) return null
    const candidates = [...this.#candidates.values()]
    if (!candidates.every(({ finished }) => finished)) return null
    return candidates.reduce((sum, { searches }) => sum + searches, 0)
  }

  /** The wire leaves out an index of 0. */
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

  /** A blocked prompt has no candidates: the finish reason is the whole answer. */
  #feedback(feedback: RawJson | null): readonly AnswerEvent[] {
    const native = textOf(feedback?.['blockReason'])
    const isBlocked = native !== null || textOf(feedback?.['blockReasonMessage']) !== null
    if (!isBlocked || this.#candidates.size > 0 || this.#isBlocked) return []
    this.#isBlocked = true
    return [{ type: 'finish', choice: 0, native, finish: 'content_filter' }]
  }
}

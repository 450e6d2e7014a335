import { type AttemptFailure, failure, garbage } from '../ports/attempt-failure.ts'
import { type AnswerSink, type ResultSink, type RunningCall, type UnitCall, UnsendableError } from '../ports/call.ts'
import { settingsOf, type SdkPackages, type SdkSettings } from './sdk-packages.ts'
import { objectOf, textOf, isBomb, listOf, parseJson, UPSTREAM_LIMITS } from '../wire/raw-json.ts'
import { eventFailure } from '../wire/upstream-error.ts'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Endpoint } from '../../catalog/catalog.ts'
import { namedReason } from '../../kinds/answer/end.ts'
import { parseLifted, type VectorBytes } from '../wire/lifted-json.ts'
import { SseDecoder } from '../wire/stream-decoders.ts'
import { headerOf, type HttpRequest, type Transport } from '../wire/transport.ts'
import {
  TURN_BYTES,
  UpstreamResponse,
  type AnswerState,
  type ResponseReader,
  type StreamProgress,
} from '../upstream/response.ts'

export interface SdkPorts extends SdkFetchPorts {
  readonly packages: SdkPackages
}

/** The state of the run, which its reader may ask for or wait for. */
export interface SdkProgress {
  /** Whether nobody waits for the answer any more. */
  isOver(): boolean
  /** Called when the package has made a part of the bytes that came. */
  progressed(): void
  /** Resolves when the client takes more. */
  resumed(): Promise<void>
}

interface SdkAsked extends Omit<SdkFetchCall, 'endpoint'> {
  readonly call: Pick<UnitCall<unknown>, 'endpoint' | 'apiKey'>
}

/** The most bytes of a stream from which the package made no part: no real line is longer (guarantees.md F25). */
const UNREAD_BYTES_MAX = 1_048_576
/** The most bytes for the package in one turn of the loop: each small event may take it 0.1 ms. */
const PIECE_BYTES = 8_192
const TAIL_BYTES = 32

/**
 * A package parses the answer again and checks each part: 59,000 parts took a third of a second, 3,000,000 escapes a
 * seventh of a second.
 */
const PACKAGE_LIMITS = Object.freeze({ ...UPSTREAM_LIMITS, containers: 12_000, escapes: 1_000_000 })

const SOUND = /^(?:audio\/|video\/|application\/octet-stream)/i
const DONE = /(?:^|[\r\n])data: ?\[DONE\]\s*$/
/** The finish of an answer contains one of these, whatever the protocol; other events are not parsed for it. */
const FINISH = /"(?:finish_?reason|stop_reason)"\s*:\s*"|response\.(?:in)?complete|message-end|"done"\s*:\s*true/i
/** The types of last events in protocols without such a field. */
const LAST_TYPES: readonly unknown[] = ['response.completed', 'response.incomplete', 'message-end']
/** Ends a last event whose blank line is missing; other framings skip it. */
const BLANK_LINE = Buffer.from('\n\n')
const EMPTY = Buffer.alloc(0)

interface SdkFetchPorts {
  readonly transport: Transport
}

/** The call that a fetch serves. */
interface SdkFetchCall {
  readonly endpoint: Endpoint
  readonly streaming: boolean
  /** The largest accepted answer; absent = 32 MiB. */
  readonly bytesMax?: number
  /** Whether the answer may be sound instead of JSON. */
  readonly takesBytes?: boolean
  /**
   * Takes the vectors as they came. The package gets each vector as a list of one number, its index: parsing and
   * checking a million numbers would take it a third of a second.
   */
  readonly onVectors?: (vectors: readonly VectorBytes[]) => void
}

interface SdkFetchEvents {
  /** Called when the provider answered 200 with headers. */
  headers(): void
  /** Called when the provider failed and the package need not explain it: it only gets an error. */
  failed(found: AttemptFailure): void
}

/**
 * One call through a package, without the package's retries. The package asks and reads; this class applies the limits
 * and decides the end.
 */
export class SdkRun implements RunningCall {
  readonly #sink: Pick<AnswerSink, 'headers' | 'fail'>
  readonly #fetch: SdkFetch
  #over = false
  #wake: (() => void) | null = null

  /** `work` resolves to a failure, or to a function that ends the answer. */
  constructor(
    ports: SdkPorts,
    { call, ...asked }: SdkAsked,
    sink: Pick<AnswerSink, 'headers' | 'fail'>,
    work: (settings: SdkSettings, progress: SdkProgress) => Promise<AttemptFailure | (() => void)>,
  ) {
    this.#sink = sink
    this.#fetch = new SdkFetch(
      ports,
      { endpoint: call.endpoint, ...asked },
      {
        headers: () => {
          if (!this.#over) sink.headers()
        },
        failed: (found) => this.#fail(found),
      },
    )
    const settings = settingsOf(call, this.#fetch.fetch)
    const progress = {
      isOver: () => this.#over,
      progressed: () => this.#fetch.progressed(),
      resumed: () => this.#resumed(),
    }
    // `#run` never rejects: failures go to the sink.
    void this.#run(() => work(settings, progress))
  }

  cancel(): void {
    this.#over = true
    this.#fetch.cancel()
    this.resume()
  }

  resume(): void {
    this.#wake?.()
    this.#wake = null
  }

  async #run(work: () => Promise<AttemptFailure | (() => void)>): Promise<void> {
    try {
      const end = await work()
      if (this.#over) return
      if (typeof end !== 'function') return this.#giveUp(end)
      this.#over = true
      end()
    } catch (thrown) {
      this.#giveUp((this.#fetch.started ? null : refusal(thrown)) ?? thrownFailure(thrown, this.#fetch.started))
    }
  }

  /** The sink may have cancelled the call during its push. */
  #resumed(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#over) resolve()
      else this.#wake = resolve
    })
  }

  #giveUp(found: AttemptFailure): void {
    this.#fetch.cancel()
    this.#fail(found)
  }

  #fail(found: AttemptFailure): void {
    if (this.#over) return
    this.#over = true
    this.resume()
    this.#sink.fail(found)
  }
}

/** One call whose answer is a single result. */
export function sdkResult<Result extends object>(
  ports: SdkPorts,
  call: Pick<UnitCall<unknown>, 'endpoint' | 'apiKey'>,
  sink: ResultSink<Result>,
  ask: (settings: SdkSettings) => Promise<Result | AttemptFailure>,
  limits: Pick<SdkFetchCall, 'bytesMax' | 'takesBytes' | 'onVectors'> = {},
): RunningCall {
  return new SdkRun(ports, { call, streaming: false, ...limits }, sink, async (settings) => {
    const result = await ask(settings)
    return 'reason' in result ? result : () => sink.result(result)
  })
}

const DETAIL_LENGTH_MAX = 2_000
const CAUSES_MAX = 4
/** Names of the packages' errors about a request that their provider cannot express. */
const UNSENDABLE: ReadonlySet<string> = new Set(['AI_UnsupportedFunctionalityError', 'AI_InvalidPromptError'])

/** The failure of a request that was never sent because the provider cannot express it; null = another failure. */
export function refusal(thrown: unknown): AttemptFailure | null {
  const error = objectOf(thrown)
  const message =
    thrown instanceof UnsendableError
      ? thrown.message
      : UNSENDABLE.has(textOf(error?.['name']) ?? '')
        ? 'This provider does not support a part of the request'
        : null
  return message === null
    ? null
    : { ...failure('unsendable', 400, message), publicMessage: message, detail: messageOf(thrown) }
}

/**
 * The failure for an error that a package threw or put into its stream. `sent` is false if no request was sent: then
 * the provider is not to blame.
 */
export function thrownFailure(thrown: unknown, sent: boolean): AttemptFailure {
  if (!sent) return failure('connect', null, messageOf(thrown))
  const said = upstreamError(thrown, CAUSES_MAX)
  // The error's message may repeat the request or the answer.
  const unread = { ...failure('garbage', null, 'its package could not read the answer'), detail: messageOf(thrown) }
  return said === null ? unread : eventFailure(said)
}

/**
 * The provider's error inside a 200, which a package passes on unchanged, or as a value that did not fit its schema.
 */
function upstreamError(thrown: unknown, depth: number): unknown {
  const error = objectOf(thrown)
  if (error === null || depth === 0) return null
  for (const name of ['data', 'value']) {
    const value = objectOf(error[name])
    const said = value?.['error'] ?? (value?.['object'] === 'error' ? value : null)
    if (said !== null) return said
  }
  return upstreamError(error['cause'], depth - 1)
}

/** Only the name and the message: other fields of a package's error hold the request and its address. */
function messageOf(thrown: unknown): string {
  return (
    thrown instanceof Error
      ? `${thrown.name}: ${thrown.message}`
      : typeof thrown === 'string'
        ? thrown
        : 'the package failed'
  ).slice(0, DETAIL_LENGTH_MAX)
}

/**
 * The `fetch` for one call of a package. Its request goes through our transport, which applies the provider's limits,
 * follows no redirect and bounds every body. Answers with an error status are read here, and not by the package.
 */
class SdkFetch {
  readonly #ports: SdkFetchPorts
  readonly #call: SdkFetchCall
  readonly #events: SdkFetchEvents
  #upstream: UpstreamResponse | null = null
  #answer: PromiseWithResolvers<Response> | null = null
  #body: ReadableStreamDefaultController<Uint8Array> | null = null
  /** Bytes that the package has not got yet; the socket is paused meanwhile. */
  #waiting: Buffer = EMPTY
  /** Whether the upstream body has ended, so that nothing follows `#waiting`. */
  #isOver = false
  #unreadBytes = 0
  #cancelled = false
  /** Whether the shape of an event is dangerous. The package parses the events itself, so they are checked before. */
  #isBomb = false
  #state: AnswerState = 'open'
  #lastEvent: Buffer = EMPTY
  readonly #decoder = new SseDecoder({
    event: (data) => {
      this.#isBomb ||= isBomb(data)
      if (this.#state === 'open' && !this.#isBomb && isFinish(data)) this.#state = 'finished'
      this.#lastEvent = data
    },
    errorLine: () => undefined,
  })
  #tail: Buffer = EMPTY

  constructor(ports: SdkFetchPorts, call: SdkFetchCall, events: SdkFetchEvents) {
    this.#ports = ports
    this.#call = call
    this.#events = events
  }

  get started(): boolean {
    return this.#upstream !== null
  }

  readonly fetch = (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const { body } = init ?? {}
    return typeof body === 'string' ? this.#send(input, init, Buffer.from(body), null) : this.#encoded(input, init)
  }

  /** A form or a file as bytes. */
  async #encoded(input: string | URL | Request, init: RequestInit | undefined): Promise<Response> {
    const encoded = new Response(init?.body ?? null)
    const bytes = Buffer.from(await encoded.arrayBuffer())
    if (this.#cancelled) throw new Error('cancelled')
    return this.#send(input, init, bytes, encoded.headers.get('content-type'))
  }

  #send(
    input: string | URL | Request,
    init: RequestInit | undefined,
    body: Buffer,
    contentType: string | null,
  ): Promise<Response> {
    const request = this.#request(input, init, body, contentType)
    if (typeof request === 'string') return Promise.reject(new TypeError(request))
    const answer = Promise.withResolvers<Response>()
    this.#answer = answer
    this.#upstream = new UpstreamResponse(this.#ports.transport, request, this.#reader(answer), {
      headers: () => this.#events.headers(),
      push: () => true,
      end: () => this.#ended(),
      fail: (found) => {
        this.#events.failed(found)
        this.#break(found.detail)
      },
    })
    return answer.promise
  }

  /** Called when the package has made a part of the bytes that it read. */
  progressed(): void {
    this.#unreadBytes = 0
    this.#upstream?.progressed()
  }

  cancel(): void {
    this.#cancelled = true
    this.#upstream?.cancel()
    this.#break('cancelled')
  }

  /** The package's request, or the reason to refuse it. */
  #request(
    input: string | URL | Request,
    init: RequestInit | undefined,
    body: Buffer,
    contentType: string | null,
  ): HttpRequest | string {
    const { provider } = this.#call.endpoint
    if (this.#upstream !== null) return 'a call is one request'
    if (input instanceof Request || init?.method !== 'POST' || body.length === 0) return 'a call is a POST with a body'
    const url = new URL(input)
    // The key is sent only to the address that the operator configured, whatever the package asks for.
    if (url.origin !== new URL(provider.baseUrl).origin) return "the package left the provider's base_url"
    return {
      provider: { ...provider, baseUrl: url.origin },
      path: url.pathname + url.search,
      body,
      headers: {
        ...(contentType === null ? {} : { 'content-type': contentType }),
        ...Object.fromEntries(new Headers(init.headers)),
      },
      streaming: this.#call.streaming,
    }
  }

  #reader(answer: PromiseWithResolvers<Response>): ResponseReader {
    const { streaming, endpoint, bytesMax, takesBytes = false, onVectors } = this.#call
    return {
      stream: streaming
        ? {
            push: (bytes) => this.#push(bytes, answer),
            end: () => (this.#body === null ? failure('garbage', null, 'the stream is empty') : null),
          }
        : null,
      whole: (bytes, headers) => {
        const type = headerOf(headers, 'content-type') ?? ''
        if (takesBytes && SOUND.test(type)) {
          answer.resolve(new Response(new Uint8Array(bytes), { headers: { 'content-type': type } }))
          return null
        }
        const given = onVectors === undefined ? bytes : withoutVectors(bytes, onVectors)
        const body = parseJson(given, PACKAGE_LIMITS)
        const error = objectOf(body)?.['error'] ?? null
        if (error !== null) return eventFailure(error)
        if (body === undefined || streaming)
          return garbage(`${streaming ? 'no stream' : 'no JSON'} from ${endpoint.id}`, bytes)
        const give = (): null => {
          answer.resolve(new Response(new Uint8Array(given), { headers: { 'content-type': 'application/json' } }))
          return null
        }
        // The package parses a large body in another turn of the loop than our check does.
        return bytes.length < TURN_BYTES ? give() : nextTurn().then(() => give)
      },
      ...(bytesMax === undefined ? {} : { bytesMax }),
    }
  }

  #push(bytes: Buffer, answer: PromiseWithResolvers<Response>): StreamProgress {
    if (this.#body === null) this.#open(answer)
    if (!this.#decoder.push(bytes) || this.#isBomb)
      return {
        failure: failure('too_large', null, 'an event of the stream is larger or deeper than any honest one'),
        flowing: true,
        progressed: false,
        state: this.#state,
      }
    this.#waiting = this.#waiting.length === 0 ? bytes : Buffer.concat([this.#waiting, bytes])
    if ((this.#body?.desiredSize ?? 0) > 0) this.#give()
    this.#unreadBytes += bytes.length
    this.#tail = Buffer.concat([this.#tail.subarray(-TAIL_BYTES), bytes.subarray(-TAIL_BYTES)])
    if (DONE.test(this.#tail.toString('latin1'))) this.#state = 'done'
    return {
      failure:
        this.#unreadBytes > UNREAD_BYTES_MAX
          ? failure('too_large', null, 'an event of the stream is longer than 1 MiB')
          : null,
      flowing: this.#waiting.length === 0,
      // The call reports progress only when the package has made a part.
      progressed: false,
      state: this.#state,
    }
  }

  #open(answer: PromiseWithResolvers<Response>): void {
    const stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#body = controller
        },
        // In another turn of the loop: a package reads as long as bytes come, and 15,000 small events took it 170 ms.
        pull: () => void setImmediate(() => this.#give()),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: PIECE_BYTES }),
    )
    answer.resolve(new Response(stream, { headers: { 'content-type': 'text/event-stream' } }))
  }

  /** Gives the next piece; the socket resumes when the package has got all of the previous read. */
  #give(): void {
    if (this.#waiting.length > 0) {
      this.#body?.enqueue(this.#waiting.subarray(0, PIECE_BYTES))
      this.#waiting = this.#waiting.subarray(PIECE_BYTES)
    } else if (this.#isOver) {
      this.#body?.close()
      this.#body = null
    } else this.#upstream?.resume()
  }

  #ended(): void {
    const isComplete = this.#state !== 'open'
    this.#lastEvent = EMPTY
    this.#decoder.end()
    // After the finish there may be half an event, which the package must not read.
    const isHalf = isComplete && this.#lastEvent.length > 0 && parseJson(this.#lastEvent) === undefined
    if (!isHalf) this.#waiting = Buffer.concat([this.#waiting, BLANK_LINE])
    this.#isOver = true
    if ((this.#body?.desiredSize ?? 0) > 0) this.#give()
  }

  #break(detail: string): void {
    this.#answer?.reject(new Error(detail))
    this.#body?.error(new Error(detail))
    this.#body = null
  }
}

/** Whether an event of any protocol ends its only answer. */
function isFinish(data: Buffer): boolean {
  const event = FINISH.test(data.toString('latin1')) ? objectOf(parseJson(data)) : null
  if (event === null) return false
  const [choice] = [...listOf(event['choices']), ...listOf(event['candidates'])].map(objectOf)
  const reasons = [choice?.['finish_reason'], choice?.['finishReason'], objectOf(event['delta'])?.['stop_reason']]
  return (
    event['done'] === true ||
    LAST_TYPES.includes(event['type']) ||
    reasons.some((reason) => namedReason(reason) !== null)
  )
}

/** The body for the package; unchanged if it is not JSON. */
function withoutVectors(body: Buffer, onVectors: (vectors: readonly VectorBytes[]) => void): Buffer {
  const lifted = parseLifted(body)
  if (lifted === undefined) return body
  onVectors(lifted.vectors)
  return Buffer.from(JSON.stringify(lifted.json))
}

import type { Adapter, AttemptFailure, ChatCall, RunningCall, StreamSink } from './adapter.ts'
import { openaiAnswer } from './openai-answer.ts'
import { OPENAI_PARAMETERS } from './openai-parameters.ts'
import { openaiBody } from './openai-request.ts'
import { OpenaiStream } from './openai-stream.ts'
import { InflatedBody } from './inflated-body.ts'
import { objectOf, parseJson } from './raw-json.ts'
import { failure, type Exchange, type Transport } from './transport.ts'
import { eventFailure, upstreamFailure } from './upstream-error.ts'

const JSON_BYTES_MAX = 32 * 1_048_576
const CHAT_PATH = '/chat/completions'

type PlainSink = Parameters<Adapter['completeChat']>[1]

/** OpenAI's chat protocol and every dialect of it. */
export function createOpenai(transport: Transport, now: () => number): Adapter {
  return {
    name: 'openai',
    supportedParameters: OPENAI_PARAMETERS,
    streamChat: (call, sink) => new StreamingCall(call, sink, transport, now).running,
    completeChat: (call, sink) => new PlainCall(call, sink, transport, now).running,
  }
}

/** What both forms share: sending, collecting a body that is to be read whole, and its errors. */
abstract class OpenaiCall {
  readonly running: RunningCall
  readonly #exchange: Exchange
  readonly #now: () => number
  #status = 0
  #headers: ReadonlyMap<string, string> = new Map()
  #collected: Buffer[] = []
  #collectedBytes = 0
  #body: InflatedBody | null = null
  #over = false

  constructor(call: ChatCall, transport: Transport, now: () => number) {
    this.#now = now
    this.#exchange = transport.send(
      {
        provider: call.endpoint.provider,
        path: CHAT_PATH,
        body: Buffer.from(JSON.stringify(openaiBody(call))),
        headers: call.apiKey === null ? {} : { authorization: `Bearer ${call.apiKey}` },
        streaming: call.request.stream,
      },
      {
        headers: (status, headers) => this.#start(status, headers),
        data: (bytes) => this.#body?.push(bytes) ?? this.received(bytes),
        ended: () => (this.#body === null ? this.ended() : this.#body.end()),
        failed: (found) => this.fail(found),
      },
    )
    this.running = {
      cancel: () => {
        this.#over = true
        this.#exchange.cancel()
      },
      resume: () => this.#exchange.resume(),
    }
  }

  protected get ok(): boolean {
    return this.#status >= 200 && this.#status < 300
  }

  protected get contentType(): string {
    return this.#headers.get('content-type') ?? ''
  }

  protected abstract answered(): void
  protected abstract received(bytes: Buffer): boolean
  protected abstract ended(): void
  protected abstract failed(found: AttemptFailure): void

  protected progressed(): void {
    this.#exchange.progressed()
  }

  protected collect(bytes: Buffer): boolean {
    this.#collectedBytes += bytes.length
    this.progressed()
    if (this.#collectedBytes > JSON_BYTES_MAX) this.giveUp(failure('too_large', null, 'the answer is larger than 32 MiB'))
    else this.#collected.push(bytes)
    return true
  }

  protected parsed(): unknown {
    return parseJson(Buffer.concat(this.#collected))
  }

  /** The answer is of no use any more: the socket goes too. */
  protected giveUp(found: AttemptFailure): void {
    this.#exchange.cancel()
    this.fail(found)
  }

  protected finished(): boolean {
    const before = this.#over
    this.#over = true
    return !before
  }

  protected fail(found: AttemptFailure): void {
    if (this.finished()) this.failed(found)
  }

  protected failStatus(): void {
    this.fail(upstreamFailure(this.#status, this.parsed(), this.#headers, this.#now()))
  }

  #start(status: number, headers: ReadonlyMap<string, string>): void {
    this.#status = status
    this.#headers = headers
    const encoding = headers.get('content-encoding')
    if (encoding !== undefined && encoding !== 'identity') {
      this.#body = new InflatedBody(encoding, {
        data: (bytes) => this.received(bytes),
        end: () => this.ended(),
        fail: (detail) => this.giveUp(failure('garbage', null, detail)),
      })
    }
    if (this.ok) this.answered()
  }
}

class PlainCall extends OpenaiCall {
  readonly #sink: PlainSink

  constructor(call: ChatCall, sink: PlainSink, transport: Transport, now: () => number) {
    super(call, transport, now)
    this.#sink = sink
  }

  protected override answered(): void {
    this.#sink.headers()
  }

  protected override received(bytes: Buffer): boolean {
    return this.collect(bytes)
  }

  protected override ended(): void {
    if (!this.ok) return this.failStatus()
    const body = this.parsed()
    const error = objectOf(body)?.['error']
    const answer = error === undefined || error === null ? openaiAnswer(body) : null
    if (error !== undefined && error !== null) this.fail(eventFailure(error))
    else if (answer === null) this.fail(failure('garbage', null, 'the answer is not a chat completion'))
    else if (this.finished()) this.#sink.done(answer)
  }

  protected override failed(found: AttemptFailure): void {
    this.#sink.fail(found)
  }
}

class StreamingCall extends OpenaiCall {
  readonly #call: ChatCall
  readonly #sink: StreamSink
  readonly #stream: OpenaiStream

  constructor(call: ChatCall, sink: StreamSink, transport: Transport, now: () => number) {
    super(call, transport, now)
    this.#call = call
    this.#sink = sink
    this.#stream = new OpenaiStream(call, sink)
  }

  protected override answered(): void {
    this.#sink.headers()
  }

  protected override received(bytes: Buffer): boolean {
    if (!this.ok || this.#isPlainJson()) return this.collect(bytes)
    const { failure: found, flowing, progressed } = this.#stream.push(bytes)
    if (progressed) this.progressed()
    if (found !== null) this.giveUp(found)
    return flowing
  }

  protected override ended(): void {
    if (!this.ok) return this.failStatus()
    if (this.#isPlainJson()) {
      const error = objectOf(this.parsed())?.['error']
      return this.fail(error === undefined ? failure('garbage', null, `a JSON answer to a stream of ${this.#call.endpoint.id}`) : eventFailure(error))
    }
    const result = this.#stream.end()
    if ('failure' in result) this.fail(result.failure)
    else if (this.finished()) this.#sink.end(result.end)
  }

  protected override failed(found: AttemptFailure): void {
    // The connection broke, but the answer was whole: its end had come.
    if (found.reason === 'cut' && this.#stream.done) {
      const result = this.#stream.end()
      if ('end' in result) return this.#sink.end(result.end)
    }
    this.#sink.fail(found)
  }

  #isPlainJson(): boolean {
    return this.contentType.startsWith('application/json')
  }
}

import type { ChatAnswer, ChunkIdentity } from '../kinds/chat-answer.ts'
import type { Clock } from '../lib/clock.ts'
import type { Adapter, AttemptFailure, ChatCall, RunningCall, StreamSink } from './adapter.ts'
import { chunkBytes } from './chat-chunk.ts'
import { OPENAI_PARAMETERS } from './openai-parameters.ts'
import { sandboxAnswer, type SandboxAnswer } from './sandbox-answer.ts'
import { lastUserText, readScript, type SandboxScript } from './sandbox-script.ts'

interface SandboxEvent {
  readonly bytes: Buffer
  readonly text: string
}

/** The provider that needs no network: deterministic answers and, on request, every fault a provider can have. */
export function createSandbox(clock: Clock): Adapter {
  return {
    name: 'sandbox',
    supportedParameters: OPENAI_PARAMETERS,
    streamChat: (call, sink) => new SandboxStream(call, sink, clock),
    completeChat: (call, sink) => {
      const script = readScript(lastUserText(call.request))
      let stop = clock.after(script.delayMs, () => {
        const failure = plainFailure(script)
        if (failure === null && script.stall !== null) {
          sink.headers()
          stop = clock.after(call.endpoint.provider.timeouts.progress * 1_000, () => sink.fail(failureOf('stall', null, 'stalled by script')))
          return
        }
        if (failure !== null) {
          if (failure.reason !== 'status') sink.headers()
          return sink.fail(failure)
        }
        sink.headers()
        sink.done(plainAnswer(call, sandboxAnswer(call.request, script, call.sendMaxTokens)))
      })
      return { cancel: () => stop(), resume: () => undefined }
    },
  }
}

function failureOf(reason: AttemptFailure['reason'], status: number | null, detail: string): AttemptFailure {
  const refused = status !== null && status < 500 && status !== 429
  return {
    reason,
    status,
    publicMessage: refused ? `The sandbox was asked to fail with ${status}` : null,
    refusal: status === 401 || status === 403 ? 'credentials' : null,
    retryAfterSeconds: status === 429 ? 1 : null,
    detail,
  }
}

function plainFailure(script: SandboxScript): AttemptFailure | null {
  if (script.status !== null) return failureOf('status', script.status, 'status by script')
  if (script.error !== null) return failureOf('error_event', 502, 'error by script')
  return script.cut === null ? null : failureOf('cut', null, 'cut by script')
}

function plainAnswer(call: ChatCall, answer: SandboxAnswer): ChatAnswer {
  const text = answer.words.join('')
  const { toolCall } = answer
  const message = {
    role: 'assistant',
    content: toolCall !== null || text === '' ? (toolCall === null && !isBlank(answer) ? '' : null) : text,
    refusal: null,
    ...(answer.reasoning === '' ? {} : { reasoning: answer.reasoning }),
    ...(toolCall === null ? {} : { tool_calls: [{ id: toolCall.id, type: 'function', function: { name: toolCall.name, arguments: toolCall.arguments } }] }),
  }
  return {
    choices: Array.from({ length: call.request.n }, (_value, index) => ({ index, finish: answer.finish, native: answer.native === '' ? null : answer.native, message, logprobs: null })),
    usage: answer.usage,
    upstreamId: null,
    systemFingerprint: null,
    hasContent: text !== '' || toolCall !== null || answer.reasoning !== '',
    text: answer.reasoning + text + (toolCall?.arguments ?? ''),
  }
}

function isBlank(answer: SandboxAnswer): boolean {
  return answer.finish === null
}

/** The answer as events, one delta each. */
function eventsOf(identity: ChunkIdentity, answer: SandboxAnswer, n: number): readonly SandboxEvent[] {
  const events: SandboxEvent[] = []
  for (let index = 0; index < n; index += 1) {
    const add = (delta: Record<string, unknown>, text: string): void => {
      events.push({ bytes: chunkBytes(identity, index, delta), text })
    }
    add({ role: 'assistant', content: '' }, '')
    if (answer.reasoning !== '') add({ reasoning: answer.reasoning }, answer.reasoning)
    for (const word of answer.words) add({ content: word }, word)
    if (answer.toolCall === null) continue
    const { id, name, arguments: text } = answer.toolCall
    add({ tool_calls: [{ index: 0, id, type: 'function', function: { name, arguments: '' } }] }, name)
    add({ tool_calls: [{ index: 0, function: { arguments: text } }] }, text)
  }
  return events
}

class SandboxStream implements RunningCall {
  readonly #call: ChatCall
  readonly #sink: StreamSink
  readonly #clock: Clock
  readonly #script: SandboxScript
  #events: readonly SandboxEvent[] = []
  #answer: SandboxAnswer | null = null
  #next = 0
  #paused = false
  #over = false
  #stop: () => void

  constructor(call: ChatCall, sink: StreamSink, clock: Clock) {
    this.#call = call
    this.#sink = sink
    this.#clock = clock
    this.#script = readScript(lastUserText(call.request))
    this.#stop = clock.after(this.#script.delayMs, () => this.#begin())
  }

  cancel(): void {
    this.#over = true
    this.#stop()
  }

  resume(): void {
    if (!this.#paused || this.#over) return
    this.#paused = false
    this.#run()
  }

  #begin(): void {
    const { request, sendMaxTokens, identity } = this.#call
    if (this.#script.status !== null) return this.#fail(failureOf('status', this.#script.status, 'status by script'))
    this.#sink.headers()
    this.#answer = sandboxAnswer(request, this.#script, sendMaxTokens)
    this.#events = eventsOf(identity, this.#answer, request.n)
    this.#run()
  }

  /** Sends until the end, the next gap or a full client. The role chunk is no event of the script's count. */
  #run(): void {
    while (!this.#over && !this.#paused) {
      const count = Math.max(0, this.#next - 1)
      if (this.#next > 0 && this.#faultAt(count)) return
      const event = this.#events[this.#next]
      if (event === undefined) return this.#end()
      this.#next += 1
      if (!this.#sink.chunk(event.bytes, 1, event.text)) this.#paused = true
      if (this.#script.gapMs > 0 && !this.#paused) {
        this.#stop = this.#clock.after(this.#script.gapMs, () => this.#run())
        return
      }
    }
  }

  #faultAt(count: number): boolean {
    if (this.#script.cut === count) this.#fail(failureOf('cut', null, 'cut by script'))
    else if (this.#script.error === count) this.#fail(failureOf('error_event', 502, 'error by script'))
    else if (this.#script.stall === count) {
      this.#stop = this.#clock.after(this.#call.endpoint.provider.timeouts.progress * 1_000, () => this.#fail(failureOf('stall', null, 'stalled by script')))
    } else return false
    return true
  }

  #fail(failure: AttemptFailure): void {
    if (this.#over) return
    this.#over = true
    this.#sink.fail(failure)
  }

  #end(): void {
    this.#over = true
    const answer = this.#answer
    if (answer === null) return
    const native = answer.native === '' ? null : answer.native
    this.#sink.end({
      finishes: Array.from({ length: this.#call.request.n }, (_value, index) => ({ index, finish: answer.finish, native })),
      usage: answer.usage,
      upstreamId: null,
      hasContent: answer.words.length > 0 || answer.toolCall !== null || answer.reasoning !== '',
    })
  }
}

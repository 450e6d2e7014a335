import type { AnswerEvent } from '../kinds/answer-event.ts'
import type { Clock } from '../lib/clock.ts'
import type { Adapter, AnswerSink, AttemptFailure, ChatCall, RunningCall } from './adapter.ts'
import { OPENAI_PARAMETERS } from './openai-parameters.ts'
import { sandboxAnswer, type SandboxAnswer } from './sandbox-answer.ts'
import { answerAtOnce } from './sandbox-at-once.ts'
import { sandboxEmbeddings } from './sandbox-embeddings.ts'
import { failureOf, plainFailure } from './sandbox-failure.ts'
import { sandboxImages } from './sandbox-images.ts'
import { lastUserText, readScript, scriptedText, type SandboxScript } from './sandbox-script.ts'
import { sandboxRanking } from './sandbox-ranking.ts'
import { sandboxSpeech } from './sandbox-speech.ts'
import { sandboxTranscription } from './sandbox-transcription.ts'

/** The provider that needs no network: deterministic answers and, on request, every fault a provider can have. */
export function createSandbox(clock: Clock): Adapter {
  return {
    name: 'sandbox',
    supportedParameters: OPENAI_PARAMETERS,
    chat: (call, sink) => (call.request.stream ? new SandboxStream(call, sink, clock) : answerWhole(call, sink, clock)),
    unitParameters: {
      embeddings: ['dimensions', 'encoding_format', 'input_type', 'user'],
      rerank: ['top_n'],
      image: ['n', 'size', 'aspect_ratio', 'image_size', 'image', 'seed', 'user'],
      tts: ['voice', 'response_format', 'speed'],
      transcription: ['language', 'prompt', 'response_format', 'timestamp_granularities'],
    },
    embeddings: (call, sink) => {
      const { input } = call.request
      const script = readScript(input.type === 'texts' ? scriptedText(input.texts) : '')
      return answerAtOnce(call, script, sink, clock, () => sandboxEmbeddings(call.request, script))
    },
    rerank: (call, sink) => {
      const script = readScript(call.request.query)
      return answerAtOnce(call, script, sink, clock, () => sandboxRanking(call.request, script))
    },
    images: sandboxImages(clock),
    speech: sandboxSpeech(clock),
    transcription: sandboxTranscription(clock),
  }
}

function answerWhole(call: ChatCall, sink: AnswerSink, clock: Clock): RunningCall {
  const script = readScript(lastUserText(call.request))
  let stop = clock.after(script.delayMs, () => {
    const failure = plainFailure(script)
    if (failure?.reason === 'status') return sink.fail(failure)
    sink.headers()
    if (failure !== null) return sink.fail(failure)
    if (script.stall !== null) {
      stop = clock.after(call.endpoint.provider.timeouts.progress * 1_000, () =>
        sink.fail(failureOf('stall', null, 'stalled by script')),
      )
      return
    }
    const answer = sandboxAnswer(call.request, script, call.sendMaxTokens)
    sink.push([...deltasOf(answer, call.request.n).flat(), ...endOf(answer, call.request.n)])
    sink.end()
  })
  return { cancel: () => stop(), resume: () => undefined }
}

/** What is said, a batch for each event that the script counts; the first opens the answer. */
function deltasOf(
  { reasoning, words, toolCall, finish }: SandboxAnswer,
  n: number,
): readonly (readonly AnswerEvent[])[] {
  const batches: AnswerEvent[][] = []
  for (let choice = 0; choice < n; choice += 1) {
    // A tool call stands without a text, and so does an answer that is wholly empty.
    batches.push(toolCall === null && finish !== null ? [{ type: 'text', choice, text: '' }] : [])
    if (reasoning !== '') batches.push([{ type: 'reasoning', choice, text: reasoning }])
    for (const text of words) batches.push([{ type: 'text', choice, text }])
    if (toolCall === null) continue
    batches.push([{ type: 'tool_call', choice, index: 0, id: toolCall.id, name: toolCall.name }])
    batches.push([{ type: 'tool_arguments', choice, index: 0, text: toolCall.arguments }])
  }
  return batches
}

function endOf(answer: SandboxAnswer, n: number): readonly AnswerEvent[] {
  const events: AnswerEvent[] = Array.from({ length: n }, (_value, choice) => ({
    type: 'finish' as const,
    choice,
    native: answer.native === '' ? null : answer.native,
    ...(answer.finish === null ? {} : { finish: answer.finish }),
  }))
  return answer.usage === null ? events : [...events, { type: 'usage', usage: answer.usage }]
}

class SandboxStream implements RunningCall {
  readonly #call: ChatCall
  readonly #sink: AnswerSink
  readonly #clock: Clock
  readonly #script: SandboxScript
  #batches: readonly (readonly AnswerEvent[])[] = []
  #answer: SandboxAnswer | null = null
  #next = 0
  #paused = false
  #over = false
  #stop: () => void

  constructor(call: ChatCall, sink: AnswerSink, clock: Clock) {
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
    const { request, sendMaxTokens } = this.#call
    if (this.#script.status !== null) return this.#fail(failureOf('status', this.#script.status, 'status by script'))
    this.#sink.headers()
    this.#answer = sandboxAnswer(request, this.#script, sendMaxTokens)
    this.#batches = deltasOf(this.#answer, request.n)
    this.#run()
  }

  /** Sends until the end, the next gap or a full client. The role chunk is no event of the script's count. */
  #run(): void {
    while (!this.#over && !this.#paused) {
      const count = Math.max(0, this.#next - 1)
      if (this.#next > 0 && this.#faultAt(count)) return
      const batch = this.#batches[this.#next]
      if (batch === undefined) return this.#end()
      this.#next += 1
      if (batch.length > 0 && !this.#sink.push(batch)) this.#paused = true
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
      this.#stop = this.#clock.after(this.#call.endpoint.provider.timeouts.progress * 1_000, () =>
        this.#fail(failureOf('stall', null, 'stalled by script')),
      )
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
    if (this.#answer === null) return
    this.#sink.push(endOf(this.#answer, this.#call.request.n))
    this.#sink.end()
  }
}

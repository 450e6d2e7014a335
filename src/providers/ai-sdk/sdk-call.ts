import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4FinishReason } from '@ai-sdk/provider'
import type { AnswerSink, AttemptFailure, ChatCall, RunningCall } from '../adapter.ts'
import { failure } from '../transport.ts'
import { callOptions, hidesReasoning, traitsOf } from './call-options.ts'
import { SdkAnswer } from './sdk-answer.ts'
import { refusal, thrownFailure } from './sdk-error.ts'
import { SdkFetch, type SdkFetchPorts } from './sdk-fetch.ts'
import type { SdkPackages } from './sdk-packages.ts'

export interface SdkCallPorts extends SdkFetchPorts {
  readonly packages: SdkPackages
}

/**
 * One chat through a package. The package asks and reads, the limits and the end are ours; it is called once, without
 * its retries.
 */
export class SdkCall implements RunningCall {
  readonly #call: ChatCall
  readonly #sink: AnswerSink
  readonly #packages: SdkPackages
  readonly #fetch: SdkFetch
  readonly #answer: SdkAnswer
  #over = false
  #wake: (() => void) | null = null

  constructor(ports: SdkCallPorts, call: ChatCall, sink: AnswerSink) {
    this.#call = call
    this.#sink = sink
    this.#packages = ports.packages
    this.#answer = new SdkAnswer(call.generationId, !hidesReasoning(call.request))
    this.#fetch = new SdkFetch(
      ports,
      { endpoint: call.endpoint, streaming: call.request.stream },
      {
        headers: () => {
          if (!this.#over) sink.headers()
        },
        failed: (found) => this.#fail(found),
      },
    )
    // Every failure of it goes to the sink.
    void this.#run()
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

  async #run(): Promise<void> {
    const { endpoint, apiKey, request } = this.#call
    try {
      const model = await this.#packages.model(endpoint.provider, endpoint.upstreamModel, {
        apiKey: apiKey ?? '',
        baseURL: endpoint.provider.baseUrl,
        fetch: this.#fetch.fetch,
      })
      const options = callOptions(this.#call, await traitsOf(model))
      if (!this.#over) await (request.stream ? this.#stream(model, options) : this.#whole(model, options))
    } catch (thrown) {
      this.#giveUp((this.#fetch.started ? null : refusal(thrown)) ?? thrownFailure(thrown, this.#fetch.started))
    }
  }

  async #whole(model: LanguageModelV4, options: LanguageModelV4CallOptions): Promise<void> {
    const { content, response, finishReason, usage } = await model.doGenerate(options)
    if (this.#over) return
    const events = [
      ...this.#answer.read({ type: 'response-metadata', ...(response?.id === undefined ? {} : { id: response.id }) }),
      ...content.flatMap((part) => this.#answer.read(part)),
      ...this.#answer.finish(finishReason, usage),
    ]
    this.#sink.push(events)
    this.#end()
  }

  async #stream(model: LanguageModelV4, options: LanguageModelV4CallOptions): Promise<void> {
    const { stream } = await model.doStream(options)
    const reader = stream.getReader()
    while (!this.#over) {
      const { done, value: part } = await reader.read()
      if (this.#over) return
      if (done) return this.#giveUp(failure('cut', null, 'the stream ended without a finish'))
      if (part.type === 'error') return this.#giveUp(thrownFailure(part.error, true))
      if (part.type === 'finish' && isCut(part.finishReason))
        return this.#giveUp(failure('cut', null, 'the stream ended without a finish reason'))
      const events = this.#answer.read(part)
      if (events.length === 0) continue
      this.#fetch.progressed()
      const flowing = this.#sink.push(events)
      if (part.type === 'finish') return this.#end()
      if (!flowing) await this.#resumed()
    }
  }

  /** The sink may have cancelled within its push. */
  #resumed(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#over) resolve()
      else this.#wake = resolve
    })
  }

  #end(): void {
    if (this.#over) return
    this.#over = true
    this.#sink.end()
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

/** A package ends every stream with a finish, also one that the provider never finished. */
function isCut({ unified, raw }: LanguageModelV4FinishReason): boolean {
  return unified === 'interrupted' || (raw === undefined && (unified === 'other' || unified === 'error'))
}

import type { EmbeddingModelV4CallOptions } from '@ai-sdk/provider'
import type { EmbeddingsAnswer, EmbeddingsInput } from '../../kinds/embeddings.ts'
import { inputUsage } from '../../kinds/answer/usage.ts'
import type { UsageReport } from '../../kinds/chat/answer.ts'
import { type ResultSink, type RunningCall, UnsendableError } from '../ports/call.ts'
import { failure } from '../ports/attempt-failure.ts'
import { BatchedEmbeddings, textsOf, type EmbeddingsCall, type EmbeddingsPage } from '../upstream/embeddings.ts'
import { TokenReader } from '../answers/token-reader.ts'
import type { VectorBytes } from '../wire/lifted-json.ts'
import { refusal, thrownFailure, sdkResult, type SdkPorts } from './sdk-run.ts'
import type { SdkSettings } from './sdk-packages.ts'

const BYTES_MAX = 64 * 1_048_576

/** Embeddings through a package, in as many calls as its model needs. */
export class SdkEmbeddings implements RunningCall {
  readonly #ports: SdkPorts
  readonly #call: EmbeddingsCall
  readonly #sink: ResultSink<EmbeddingsAnswer>
  #batches: RunningCall | null = null
  #over = false

  constructor(ports: SdkPorts, call: EmbeddingsCall, sink: ResultSink<EmbeddingsAnswer>) {
    this.#ports = ports
    this.#call = call
    this.#sink = sink
    // The method never rejects: failures go to the sink.
    void this.#begin()
  }

  cancel(): void {
    this.#over = true
    this.#batches?.cancel()
  }

  resume(): void {
    this.#batches?.resume()
  }

  /** Only the model knows how many inputs a call may have, so one is made without a call to read it. */
  async #begin(): Promise<void> {
    try {
      const size = await this.#sizeMax()
      if (this.#over) return
      this.#batches = new BatchedEmbeddings(
        this.#call.request,
        { size, ask: (input, pages) => this.#ask(input, pages) },
        this.#sink,
      )
    } catch (thrown) {
      if (!this.#over) this.#sink.fail(refusal(thrown) ?? thrownFailure(thrown, false))
    }
  }

  async #sizeMax(): Promise<number> {
    const { endpoint, apiKey } = this.#call
    const model = await this.#model({
      apiKey: apiKey ?? '',
      baseURL: endpoint.provider.baseUrl,
      fetch: () => Promise.reject(new TypeError('no call yet')),
    })
    return (await model.maxEmbeddingsPerCall) ?? Infinity
  }

  #model(settings: SdkSettings): ReturnType<SdkPorts['packages']['embeddingModel']> {
    const { provider, upstreamModel } = this.#call.endpoint
    return this.#ports.packages.embeddingModel(provider, upstreamModel, settings)
  }

  #ask(input: EmbeddingsInput, pages: ResultSink<EmbeddingsPage>): RunningCall {
    let lifted: readonly VectorBytes[] = []
    return sdkResult<EmbeddingsPage>(
      this.#ports,
      this.#call,
      pages,
      async (settings) => {
        const values = [...textsOf(input)]
        const model = await this.#model(settings)
        const { embeddings, usage } = await model.doEmbed({
          values,
          ...optionsOf(this.#call, model.provider.split('.', 1)[0] ?? ''),
        })
        const vectors = embeddings.flatMap(([place]) => lifted[place ?? -1] ?? [])
        if (vectors.length < embeddings.length)
          return failure('garbage', null, 'what the package calls vectors are none of the answer')
        return { vectors, usage: usageOf(usage?.tokens), upstreamId: null }
      },
      {
        bytesMax: BYTES_MAX,
        onVectors: (vectors) => {
          lifted = vectors
        },
      },
    )
  }
}

/**
 * Options that packages share only by convention go to an endpoint that lists the parameter: a vector of another length
 * would be useless.
 */
function optionsOf(
  { endpoint: { supportedParameters }, request: { dimensions, inputType } }: EmbeddingsCall,
  name: string,
): Pick<EmbeddingModelV4CallOptions, 'dimensions' | 'providerOptions'> {
  const listed = (parameter: string): boolean => supportedParameters?.includes(parameter) ?? false
  if (dimensions !== null && !listed('dimensions'))
    throw new UnsendableError('dimensions: this model has a fixed number of dimensions')
  const options = {
    ...(dimensions === null ? {} : { dimensions, outputDimension: dimensions, outputDimensionality: dimensions }),
    ...(inputType === null || !listed('input_type') ? {} : { inputType }),
  }
  return {
    ...(dimensions === null ? {} : { dimensions }),
    ...(Object.keys(options).length === 0 ? {} : { providerOptions: { [name]: options } }),
  }
}

function usageOf(tokens: unknown): UsageReport | null {
  if (tokens === undefined || tokens === null || Number.isNaN(tokens)) return null
  const reader = new TokenReader()
  const count = reader.maybe({ tokens }, 'tokens')
  return inputUsage({ tokens: count, implausible: reader.implausible })
}

import { inputUsage } from '../../kinds/answer/input-usage.ts'
import type { EmbeddingsInput, EmbeddingsRequest } from '../../kinds/embeddings.ts'
import type { UsageReport } from '../../kinds/chat/answer.ts'
import { TokenReader } from '../../protocols/answers/token-reader.ts'
import { type AttemptFailure, failure } from './attempt-failure.ts'
import type { UnitCall } from '../../protocols/ports/call.ts'
import type { LiftedJson, VectorBytes } from '../../protocols/wire/lifted-json.ts'
import type { RawJson } from '../../protocols/wire/raw-json.ts'
import { UnsendableError, type JsonRequest } from '../../protocols/ports/upstream-request.ts'
import type { UpstreamHeaders } from '../../protocols/wire/transport.ts'

export type EmbeddingsCall = UnitCall<EmbeddingsRequest>

/** The result of one request to the provider. */
export interface EmbeddingsPage {
  /** In the order of the request's inputs. */
  readonly vectors: readonly VectorBytes[]
  readonly usage: UsageReport | null
  readonly upstreamId: string | null
}

/** How to ask a provider for vectors. */
export interface EmbeddingsProtocol {
  /** The most inputs of one request. */
  batchMax(call: EmbeddingsCall): number
  /** Throws an `UnsendableError` for a request that this provider cannot express. */
  request(call: EmbeddingsCall, input: EmbeddingsInput): JsonRequest
  page(answer: LiftedJson, headers: UpstreamHeaders, call: EmbeddingsCall): EmbeddingsPage | AttemptFailure
  error(status: number, body: unknown, headers: UpstreamHeaders): AttemptFailure
}

/** Input tokens by the provider's count, in a field of its answer; null = it counts none. */
export function tokensUsage(counted: RawJson | null, name: string): UsageReport | null {
  if ((counted?.[name] ?? null) === null) return null
  const reader = new TokenReader()
  const tokens = reader.maybe(counted, name)
  return inputUsage({ tokens, implausible: reader.implausible })
}

/** The texts of an input, for a provider that does not accept tokens of another model. */
export function textsOf(input: EmbeddingsInput): readonly string[] {
  if (input.type === 'texts') return input.texts
  throw new UnsendableError('input: this provider takes texts and no token numbers')
}

/** Whether an endpoint accepts a parameter; without a list it accepts all that its protocol can carry. */
export function takes({ endpoint: { supportedParameters } }: EmbeddingsCall, name: string): boolean {
  return supportedParameters === null || supportedParameters.includes(name)
}

/**
 * The number of dimensions to request; null = the model's default. A vector of another length would be useless to the
 * client.
 */
export function dimensionsOf(call: EmbeddingsCall): number | null {
  const { dimensions } = call.request
  if (dimensions !== null && !takes(call, 'dimensions'))
    throw new UnsendableError('dimensions: this model has a fixed number of dimensions')
  return dimensions
}

/** Vectors from a list that holds nothing else. */
export function vectorList(answer: LiftedJson, values: readonly unknown[]): readonly VectorBytes[] | AttemptFailure {
  const vectors: VectorBytes[] = []
  for (const value of values) {
    const vector = vectorOf(answer, value)
    if (vector === null) return failure('garbage', null, 'an embedding is no vector')
    vectors.push(vector)
  }
  return vectors
}

const NOT_BASE64 = /[^\w+/=-]/

/** The vector that a value stands for; a short base64 text was not lifted. */
export function vectorOf({ vectors }: LiftedJson, value: unknown): VectorBytes | null {
  if (Array.isArray(value)) {
    const [place]: readonly unknown[] = value
    return typeof place === 'number' ? (vectors[place] ?? null) : null
  }
  return typeof value === 'string' && !NOT_BASE64.test(value)
    ? { form: 'base64', bytes: Buffer.from(`"${value}"`) }
    : null
}

/** 8-bit integers in base64, as the floats that every reader knows; null for other texts. */
export function widened({ form, bytes }: VectorBytes): VectorBytes | null {
  if (form === 'numbers') return { form, bytes }
  const text = bytes.toString('latin1', 1, bytes.length - 1).replaceAll('\\/', '/')
  const whole = Buffer.from(text, 'base64')
  if (whole.length === 0 || whole.toString('base64').replaceAll('=', '') !== text.replaceAll('=', '')) return null
  const floats = Float32Array.from(new Int8Array(whole.buffer, whole.byteOffset, whole.length))
  return { form, bytes: Buffer.from(JSON.stringify(Buffer.from(floats.buffer).toString('base64'))) }
}

export function isFailure(read: object): read is AttemptFailure {
  return 'reason' in read
}

import {
  type EmbeddingsAnswer,
  inputCount,
  type EmbeddingsInput,
  type EmbeddingsRequest,
} from '../../kinds/embeddings.ts'
import { sumUsage, inputUsage } from '../../kinds/answer/usage.ts'
import { failure, type AttemptFailure } from '../ports/attempt-failure.ts'
import {
  type ResultSink,
  type RunningCall,
  takes,
  type UnitCall,
  UnsendableError,
  type JsonRequest,
} from '../ports/call.ts'
import type { Transport, UpstreamHeaders } from '../wire/transport.ts'
import { vectorTexts } from '../answers/vectors.ts'
import { askWhole } from './ask.ts'
import type { UsageReport } from '../../kinds/chat/answer.ts'
import { TokenReader } from '../answers/token-reader.ts'
import type { LiftedJson, VectorBytes } from '../wire/lifted-json.ts'
import type { RawJson } from '../wire/raw-json.ts'

/** The number of parallel requests to one provider that accepts fewer inputs in a request than the client sent. */
const PARALLEL_MAX = 4
/**
 * Vectors may be as large as pictures (guarantees.md F30): 2,048 vectors of 3,072 dimensions are a little over 32 MiB
 * in base64.
 */
const BYTES_MAX = 64 * 1_048_576

/** A part of an answer, in the client's form. */
interface AnsweredPart {
  readonly vectors: readonly Buffer[]
  readonly usage: EmbeddingsPage['usage']
  readonly upstreamId: string | null
}

/** How to ask for the vectors of some of the inputs. */
export interface EmbeddingsBatches {
  /** The most inputs of one request. */
  readonly size: number
  readonly ask: (input: EmbeddingsInput, sink: ResultSink<EmbeddingsPage>) => RunningCall
}

/** Asks a provider for vectors over HTTP. */
export function askEmbeddings(
  protocol: EmbeddingsProtocol,
  transport: Transport,
): (call: EmbeddingsCall, sink: ResultSink<EmbeddingsAnswer>) => RunningCall {
  const ask = (call: EmbeddingsCall, input: EmbeddingsInput, pages: ResultSink<EmbeddingsPage>): RunningCall =>
    askWhole<EmbeddingsPage>(
      transport,
      call,
      {
        request: () => protocol.request(call, input),
        lifted: (answer, headers) => protocol.page(answer, headers, call),
        bytesMax: BYTES_MAX,
      },
      pages,
    )
  return (call, sink) =>
    askInBatches(call.request, { size: protocol.batchMax(call), ask: (input, pages) => ask(call, input, pages) }, sink)
}

/** Asks for the vectors of all inputs, in as many requests as the provider needs. */
export function askInBatches(
  { input, encodingFormat }: EmbeddingsRequest,
  { size, ask }: EmbeddingsBatches,
  sink: ResultSink<EmbeddingsAnswer>,
): RunningCall {
  const batches = batchesOf(input, size)
  const parts: (AnsweredPart | null)[] = batches.map(() => null)
  const running = new Set<RunningCall>()
  let next = 0
  let left = batches.length
  let isAnswered = false
  let isOver = false
  const cancel = (): void => {
    isOver = true
    for (const call of running) call.cancel()
  }
  const fail = (found: AttemptFailure): void => {
    if (isOver) return
    cancel()
    // The provider bills the batches that it answered, although nobody gets them.
    const billed = [...parts.map((part) => part?.usage), found.billed].filter(
      (usage) => usage !== null && usage !== undefined,
    )
    sink.fail(found, billed.length === 0 ? null : sumUsage(billed))
  }
  const take = async (batch: number, { vectors, usage, upstreamId }: EmbeddingsPage, inputs: number): Promise<void> => {
    if (vectors.length !== inputs && vectors.length > 0)
      return fail(failure('garbage', null, `${vectors.length} embeddings of ${inputs} inputs`))
    const texts = await vectorTexts(vectors, encodingFormat)
    if (isOver) return
    if (texts === null) return fail(failure('garbage', null, 'an embedding is no vector'))
    parts[batch] = { vectors: texts, usage, upstreamId }
    left -= 1
    if (left > 0) return askNext()
    isOver = true
    sink.result(wholeAnswer(parts.filter((part) => part !== null)))
  }
  const askNext = (): void => {
    const batch = next
    const inputs = batches[batch]
    if (inputs === undefined) return
    next += 1
    const call = ask(inputs, {
      headers: () => {
        if (!isAnswered && !isOver) sink.headers()
        isAnswered = true
      },
      result: (page) => {
        running.delete(call)
        if (!isOver) void take(batch, page, inputCount(inputs))
      },
      fail,
    })
    running.add(call)
  }
  for (let count = 0; count < PARALLEL_MAX; count += 1) askNext()
  return {
    cancel,
    resume: () => {
      for (const call of running) call.resume()
    },
  }
}

function wholeAnswer(parts: readonly AnsweredPart[]): EmbeddingsAnswer {
  const usage = parts.map((part) => part.usage).filter((part) => part !== null)
  return {
    // An answer that lacks the vectors of some inputs is not sold.
    vectors: parts.some(({ vectors }) => vectors.length === 0) ? [] : parts.flatMap(({ vectors }) => vectors),
    usage: usage.length < parts.length ? null : sumUsage(usage),
    upstreamId: parts[0]?.upstreamId ?? null,
  }
}

function batchesOf(input: EmbeddingsInput, size: number): readonly EmbeddingsInput[] {
  const count = inputCount(input)
  if (count <= size) return [input]
  return Array.from({ length: Math.ceil(count / size) }, (_value, index) => {
    const range = [index * size, (index + 1) * size] as const
    return input.type === 'texts'
      ? { type: 'texts', texts: input.texts.slice(...range) }
      : { type: 'tokens', lists: input.lists.slice(...range) }
  })
}

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
  /** Throws an `UnsendableError` if this provider cannot express the request. */
  request(call: EmbeddingsCall, input: EmbeddingsInput): JsonRequest
  page(answer: LiftedJson, headers: UpstreamHeaders, call: EmbeddingsCall): EmbeddingsPage | AttemptFailure
}

/** The input tokens that the provider counts in a field of its answer; null = it counts none. */
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

/**
 * The number of dimensions to request; null = the model's default. A vector of another length would be useless to the
 * client.
 */
export function dimensionsOf(call: EmbeddingsCall): number | null {
  const { dimensions } = call.request
  if (dimensions !== null && !takes(call.endpoint, 'dimensions'))
    throw new UnsendableError('dimensions: this model has a fixed number of dimensions')
  return dimensions
}

/** Vectors from a list that contains nothing else. */
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

/** The vector that a value represents; a short base64 text was not lifted. */
export function vectorOf({ vectors }: LiftedJson, value: unknown): VectorBytes | null {
  if (Array.isArray(value)) {
    const [place]: readonly unknown[] = value
    return typeof place === 'number' ? (vectors[place] ?? null) : null
  }
  return typeof value === 'string' && !NOT_BASE64.test(value)
    ? { form: 'base64', bytes: Buffer.from(`"${value}"`) }
    : null
}

/** 8-bit integers in base64, converted to floats, which every reader knows; null = another text. */
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

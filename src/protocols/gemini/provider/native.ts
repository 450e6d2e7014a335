import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import { namedReason } from '../../../kinds/answer/end.ts'
import { markedSignature } from '../signed-parts.ts'
import type { Adapter } from '../../ports/adapter.ts'
import type { AttemptFailure } from '../../ports/attempt-failure.ts'
import type { GenerateContentCall } from '../../ports/call.ts'
import { askEvents, sseMessages, type EventReader, type KnownEvents } from '../../upstream/events.ts'
import type { AnswerState } from '../../upstream/response.ts'
import { listOf, objectOf, parseJson, textOf, type RawJson } from '../../wire/raw-json.ts'
import type { Transport, UpstreamHeaders } from '../../wire/transport.ts'
import { GeminiReader, KnownChunk } from './reader.ts'
import { signerOf, traitsOf, GEMINI_TRAITS, type GeminiTraits } from '../../models/gemini-traits.ts'
import { EFFORT_LEVELS, MAX_TOKENS_DEFAULT, geminiCredentials, generatePath, withTier } from './request.ts'
import type { JsonObject } from '../../../base/json-text.ts'
import { effortTokens } from '../../answers/reasoning-wish.ts'
import { CONTINUE, PREFILL } from '../../models/turns.ts'
import { member, spellings } from '../members.ts'
import { NO_SIGNATURE } from './contents.ts'

/** Sends the client's own request, and passes the answer on unchanged while reading it (clients.md D-14.2). */
export function geminiGenerateContent(transport: Transport): NonNullable<Adapter['generateContent']> {
  return (call, sink) =>
    askEvents(
      transport,
      call,
      {
        request: () => ({
          path: generatePath(call.endpoint.upstreamModel, call.streaming),
          ...withTier(call.endpoint, call.serviceTier, call.body, geminiCredentials(call.apiKey)),
        }),
        reader: () => new NativeReader(call),
        decoder: sseMessages,
      },
      sink,
    )
}

/** Returns the ordinary events, with the provider's own chunk next to them. */
export class NativeReader implements EventReader {
  readonly #reader: GeminiReader
  readonly #owned: GenerateContentCall['owned']
  readonly #chunk = new KnownChunk()

  constructor({ generationId, candidates, owned, searches, endpoint }: GenerateContentCall) {
    const billsSearch = searches ? traitsOf(endpoint.upstreamModel).billsSearch : null
    const signer = signerOf(endpoint)
    this.#reader = new GeminiReader({ generationId, candidates, hidesReasoning: false, billsSearch, signer })
    this.#owned = signer === null ? owned : (chunk) => owned(markedChunk(chunk, signer))
  }

  answered(headers: UpstreamHeaders): void {
    this.#reader.answered(headers)
  }

  get state(): AnswerState {
    return this.#reader.state
  }

  known(bytes: Buffer, start: number): KnownEvents | null {
    const run = this.#chunk.run(bytes, start)
    if (run === null) return null
    const read = this.#reader.read(run.chunk)
    if ('reason' in read) return { read, end: run.end }
    return { read: [...read, ...run.sent.map((sent) => ({ type: 'wire', sent }) as const)], end: run.end }
  }

  message(data: Buffer): readonly AnswerEvent[] | AttemptFailure {
    const chunk = objectOf(parseJson(data))
    if (chunk === null) return this.#reader.message(data)
    const read = this.#reader.read(chunk)
    if ('reason' in read) return read
    const owned = this.#owned(chunk)
    if (isLast(chunk)) return [...read, { type: 'wire', sent: owned }]
    this.#chunk.learn(data, chunk, owned)
    return [...read, { type: 'wire', sent: Buffer.from(JSON.stringify(owned)) }]
  }

  ended(): AttemptFailure | null {
    return this.#reader.ended()
  }

  whole(body: unknown): readonly AnswerEvent[] | AttemptFailure {
    const read = this.#reader.whole(body)
    const answer = objectOf(body)
    return 'reason' in read || answer === null ? read : [...read, { type: 'wire', sent: this.#owned(answer) }]
  }
}

/** The chunk with the provider's mark on its signatures; most chunks have none. */
function markedChunk(chunk: RawJson, provider: string): RawJson {
  const candidates = listOf(chunk['candidates'])
  const parts = candidates.flatMap((candidate) => listOf(objectOf(objectOf(candidate)?.['content'])?.['parts']))
  if (!parts.some((part) => textOf(objectOf(part)?.['thoughtSignature']) !== null)) return chunk
  return { ...chunk, candidates: candidates.map((candidate) => markedCandidate(candidate, provider)) }
}

function markedCandidate(raw: unknown, provider: string): unknown {
  const candidate = objectOf(raw)
  const content = objectOf(candidate?.['content'])
  if (content === null) return raw
  const parts = listOf(content['parts']).map((given) => {
    const part = objectOf(given)
    const signature = textOf(part?.['thoughtSignature']) ?? ''
    return part === null || signature === ''
      ? given
      : { ...part, thoughtSignature: markedSignature(signature, provider) }
  })
  return { ...candidate, content: { ...content, parts } }
}

/** Whether a chunk ends a candidate, or has no content, such as one with usage after the end. */
function isLast(chunk: RawJson): boolean {
  const candidates = listOf(chunk['candidates']).map(objectOf)
  return candidates.every((candidate) => namedReason(candidate?.['finishReason']) !== null)
}

/** A client's own body of `generateContent` in the form that a model accepts. */
interface FittedContent {
  readonly body: JsonObject
  /** The changed parts, by the names of the client's protocol. */
  readonly changed: readonly string[]
}

const PENALTIES = ['frequencyPenalty', 'presencePenalty']

/** Leaves out only what one of Google's models would refuse (the rows of `gemini-traits.ts`). */
export function fittedContent(given: JsonObject, upstreamModel: string): FittedContent {
  const traits = GEMINI_TRAITS.of(upstreamModel)
  if (traits === null) return { body: given, changed: [] }
  const changed: string[] = []
  const config: Record<string, unknown> = { ...objectOf(given['generationConfig']) }
  if (!traits.samples) changed.push(...PENALTIES.filter((name) => removed(config, name)))
  if (fitThinking(config, traits)) changed.push('thinkingConfig')
  const contents = listOf(given['contents'])
  const signed = traits.needsSignatures ? contents.map(signedContent) : contents
  const isBegun = !traits.takesPrefill && isPrefilled(contents.at(-1))
  const isSame = changed.length === 0 && !isBegun && signed.every((content, at) => content === contents[at])
  if (isSame) return { body: given, changed }
  const continued = isBegun ? [...signed, { role: 'user', parts: [{ text: CONTINUE }] }] : signed
  const { generationConfig: _config, ...rest } = given
  return {
    body: { ...rest, contents: continued, ...(Object.keys(config).length === 0 ? {} : { generationConfig: config }) },
    changed: [...changed.map((name) => `generationConfig.${name}`), ...(isBegun ? [PREFILL] : [])],
  }
}

function removed(object: Record<string, unknown>, name: string): boolean {
  const given = spellings(name).filter((spelt) => object[spelt] !== undefined)
  for (const spelt of given) delete object[spelt]
  return given.length > 0
}

/** Fits the client's `thinkingConfig` to the model; returns whether it had to change. */
function fitThinking(config: Record<string, unknown>, traits: GeminiTraits): boolean {
  const given = objectOf(member(config, 'thinkingConfig'))
  if (given === null) return false
  const level = textOf(member(given, 'thinkingLevel'))?.toLowerCase() ?? null
  const budget = member(given, 'thinkingBudget')
  const amount = amountOf(level, typeof budget === 'number' ? budget : null, traits, outputMax(config))
  if (traits.thinking !== 'none' && amount.level === level && amount.budget === (budget ?? null)) return false
  const others = { ...given }
  removed(others, 'thinkingLevel')
  removed(others, 'thinkingBudget')
  removed(config, 'thinkingConfig')
  if (traits.thinking === 'none') return true
  config['thinkingConfig'] = {
    ...others,
    ...(amount.level === null ? {} : { thinkingLevel: amount.level }),
    ...(amount.budget === null ? {} : { thinkingBudget: amount.budget }),
  }
  return true
}

interface Amount {
  readonly level: string | null
  readonly budget: unknown
}

/** A budget below 0 leaves the amount to the model. */
function amountOf(level: string | null, budget: number | null, traits: GeminiTraits, maxTokens: number): Amount {
  const { thinking, levels, budgetMin, budgetMax, canStopThinking } = traits
  switch (thinking) {
    case 'none':
    case 'shown':
      return { level: null, budget: null }
    case 'level': {
      // The provider still accepts budgets, except 0.
      const wished = budget === 0 ? (levels[0] ?? null) : level
      const known = wished === null || levels.includes(wished)
      const nearest = EFFORT_LEVELS.get(wished ?? '')?.find((name) => levels.includes(name)) ?? null
      return { level: known ? wished : nearest, budget: budget === 0 ? null : budget }
    }
    case 'budget': {
      const asked = budget ?? effortTokens(level, maxTokens)
      if (asked === null || asked < 0) return { level: null, budget: asked }
      if (asked === 0) return { level: null, budget: canStopThinking ? 0 : budgetMin }
      return { level: null, budget: Math.min(budgetMax, Math.max(budgetMin, asked)) }
    }
  }
}

function outputMax(config: JsonObject): number {
  const { maxOutputTokens } = config
  return typeof maxOutputTokens === 'number' ? maxOutputTokens : MAX_TOKENS_DEFAULT
}

/**
 * Signs a call that another model made, or whose signature comes from another provider, since it has none that this
 * provider could read.
 */
function signedContent(content: unknown): unknown {
  const turn = objectOf(content)
  const parts = listOf(turn?.['parts']).map((part) => objectOf(part) ?? {})
  const calls = parts.filter((part) => member(part, 'functionCall') !== undefined)
  const [first] = calls
  if (turn?.['role'] !== 'model' || first === undefined) return content
  if (calls.some((part) => member(part, 'thoughtSignature') !== undefined)) return content
  const own = parts.map((part) => (part === first ? { ...part, thoughtSignature: NO_SIGNATURE } : part))
  return { ...turn, parts: own }
}

function isPrefilled(content: unknown): boolean {
  const turn = objectOf(content)
  const last = objectOf(listOf(turn?.['parts']).at(-1))
  return turn?.['role'] === 'model' && (textOf(last?.['text']) ?? '').trim() !== ''
}

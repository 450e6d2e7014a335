import {
  type OptionalField,
  type Schema,
  anything,
  flag,
  list,
  map,
  maybe,
  number,
  object,
  oneOf,
  readBy,
  said,
  text,
  whole,
} from '../../../base/schema.ts'
import type { ChatRequest } from '../../../kinds/chat/request.ts'
import { type RawObject, copyObject, invalidInput, quoted } from '../../../kinds/fields/body-fields.ts'
import type { Read } from '../../../kinds/fields/paid-body.ts'
import { objectMember, readMembers, unknownMembers } from '../members.ts'
import { jsonSchemaOf } from './tools.ts'

const PATH = 'generationConfig'
const STOPS_MAX = 5
const CANDIDATES_MAX = 8
const SAFE = Number.MAX_SAFE_INTEGER
/** Asks for a bare word of an enumeration, which other protocols cannot ask for. */
const ENUM = 'text/x.enum'
const MIME_TYPES = ['text/plain', 'application/json', ENUM]
const LEVELS = ['MINIMAL', 'LOW', 'MEDIUM', 'HIGH'] as const
const UNSPECIFIED = 'THINKING_LEVEL_UNSPECIFIED'
const SCHEMA = maybe(map(anything()))

const between = (minimum: number, maximum: number): OptionalField<number | null> =>
  maybe(said(number('', { minimum, maximum }), `must be a number between ${minimum} and ${maximum}`))

const count = (about: string, minimum: number, maximum: number): OptionalField<number | null> =>
  maybe(said(whole(about, { minimum, maximum }), `must be an integer between ${minimum} and ${maximum}`))

/** One of several words. `shown` are the documented ones. */
function word(
  shown: Schema<string>,
  allows: (given: string) => boolean,
  named: readonly string[],
): OptionalField<string | null> {
  const read = (given: unknown, path: string): string => {
    if (typeof given !== 'string') throw invalidInput(path, 'must be a string')
    if (allows(given)) return given
    throw invalidInput(path, `'${quoted(given)}' is not allowed. Allowed: ${named.join(', ')}`)
  }
  return maybe(readBy(shown, read))
}

const ThinkingConfig = object({
  includeThoughts: maybe(flag()),
  thinkingBudget: count('`0`: none; `-1`: as the model likes.', -1, SAFE),
  thinkingLevel: word(
    oneOf([...LEVELS, UNSPECIFIED, 'minimal', 'low', 'medium', 'high']),
    (given) => [...LEVELS, UNSPECIFIED].includes(given.toUpperCase()),
    LEVELS,
  ),
})

/** `generationConfig` as it is documented. */
export const GenerationConfig = object({
  temperature: between(0, 2),
  topP: between(0, 1),
  topK: between(0, 1e9),
  presencePenalty: between(-2, 2),
  frequencyPenalty: between(-2, 2),
  seed: between(-(2 ** 31), 2 ** 32),
  stopSequences: maybe(
    said(
      list(text('', { minLength: 1 }), '', { maxItems: STOPS_MAX }),
      `must be an array of at most ${STOPS_MAX} non-empty strings`,
    ),
  ),
  maxOutputTokens: count('', 1, SAFE),
  candidateCount: count('Answers, each paid for; 1 if absent.', 1, CANDIDATES_MAX),
  responseMimeType: word(
    oneOf(['text/plain', 'application/json', '']),
    (given) => given === '' || MIME_TYPES.includes(given),
    MIME_TYPES,
  ),
  responseSchema: SCHEMA,
  responseJsonSchema: SCHEMA,
  responseModalities: maybe(said(list(text('`TEXT`, `IMAGE` or `AUDIO`.')), 'must be an array of strings')),
  thinkingConfig: maybe(ThinkingConfig),
})

const CONFIG = object({
  ...GenerationConfig.fields,
  speechConfig: maybe(
    object({
      voiceConfig: maybe(object({ prebuiltVoiceConfig: maybe(object({ voiceName: maybe(text()) })) })),
    }),
  ),
  imageConfig: maybe(object({ aspectRatio: maybe(text()), imageSize: maybe(text()) })),
})
/** Fields that are read here; others are dropped and named. */
const KNOWN: ReadonlySet<string> = new Set(Object.keys(CONFIG.properties))

type Config = Read<typeof CONFIG>

export interface ReadConfig {
  readonly maxTokens: number | null
  readonly n: number
  readonly parameters: Readonly<Record<string, unknown>>
  readonly responseFormat: ChatRequest['responseFormat']
  readonly showsThoughts: boolean
  readonly nativeOnly: GenerateContentRequest['nativeOnly']
}

export function generationConfigOf(body: RawObject, dropped: Set<string>): ReadConfig {
  const given = objectMember(body, PATH, PATH) ?? {}
  for (const name of unknownMembers(given, KNOWN)) dropped.add(`${PATH}.${name}`)
  const config = readMembers(CONFIG, given, `${PATH}.`)
  return {
    maxTokens: config.maxOutputTokens ?? null,
    n: config.candidateCount ?? 1,
    parameters: present({ ...sampling(config), reasoning: reasoningOf(config), ...modalities(config) }),
    responseFormat: responseFormatOf(config),
    showsThoughts: config.thinkingConfig?.includeThoughts === true,
    nativeOnly: config.responseMimeType === ENUM ? { path: `${PATH}.responseMimeType`, value: ENUM } : null,
  }
}

function present(parameters: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== undefined))
}

function sampling({ topP, topK, stopSequences: stop, ...config }: Config): Readonly<Record<string, unknown>> {
  return {
    temperature: config.temperature,
    // Zero means only the most likely token, which other protocols express as a top_k of 1.
    top_p: topP === 0 ? undefined : topP,
    top_k: topP === 0 ? 1 : topK === 0 ? undefined : topK,
    presence_penalty: config.presencePenalty,
    frequency_penalty: config.frequencyPenalty,
    seed: config.seed,
    stop: stop?.length === 0 ? undefined : stop,
  }
}

/** The reasoning that is asked for: a budget of 0 means none, -1 means as much as the model wants. */
function reasoningOf({ thinkingConfig }: Config): Readonly<Record<string, unknown>> | undefined {
  const { thinkingBudget: budget, thinkingLevel: level, includeThoughts } = thinkingConfig ?? {}
  if (budget === 0) return { enabled: false }
  if (typeof budget === 'number' && budget > 0) return { max_tokens: budget }
  if (typeof level === 'string' && level.toUpperCase() !== UNSPECIFIED) return { effort: level.toLowerCase() }
  return budget === -1 || includeThoughts === true ? { enabled: true } : undefined
}

function modalities({ responseModalities, imageConfig, speechConfig }: Config): Readonly<Record<string, unknown>> {
  const names = (responseModalities ?? []).map((name) => name.toLowerCase())
  const picture = present({ aspect_ratio: imageConfig?.aspectRatio, image_size: imageConfig?.imageSize })
  const voice = speechConfig?.voiceConfig?.prebuiltVoiceConfig?.voiceName
  return {
    // Every answer has text, so text need not be requested.
    modalities: names.every((name) => name === 'text') ? undefined : names,
    audio: names.includes('audio') ? present({ voice, format: 'pcm16' }) : undefined,
    image_config: Object.keys(picture).length === 0 ? undefined : picture,
  }
}

function responseFormatOf({
  responseJsonSchema: plain,
  responseSchema: own,
  responseMimeType: type,
}: Config): ChatRequest['responseFormat'] {
  const schema = plain
    ? copyObject(plain, `${PATH}.responseJsonSchema`)
    : own && jsonSchemaOf(own, `${PATH}.responseSchema`)
  if (schema) return { type: 'json_schema', json_schema: { name: 'response', schema } }
  return type === 'application/json' ? { type: 'json_object' } : null
}

/** Fields that are sent to no provider: they name an account, have a separate price, or are a callback. */
export const WITHHELD = ['labels', 'store', 'webhookConfig', 'modelArmorConfig'] as const
/** The same in `generationConfig`: they choose another model than the one with the price. */
export const WITHHELD_CONFIG = ['routingConfig', 'modelConfig', 'modelSelectionConfig'] as const

/** A request of `generateContent`, with the equivalent chat request. */
export interface GenerateContentRequest {
  readonly chat: ChatRequest
  /** The client's body, unchanged. */
  readonly body: RawObject
  /** Whether chunks are sent as server-sent events, or as items of one JSON array. */
  readonly framing: 'sse' | 'array'
  /** Thoughts are shown only on request. */
  readonly showsThoughts: boolean
  /** The tool with which the provider searches the web; null = none. */
  readonly search: string | null
  /** Whether the request would mean something else without its search. */
  readonly needsSearch: boolean
  /** A member that only providers of this protocol understand; null = none. */
  readonly nativeOnly: { readonly path: string; readonly value: string } | null
  /** A file is not what its type says, so it is sent only as a chat, in which it has its real type. */
  readonly isMistyped: boolean
  /** Parts of the request that are sent to no provider. */
  readonly withheld: readonly string[]
  /** Parts that are sent only to providers of this protocol. */
  readonly untranslated: readonly string[]
}

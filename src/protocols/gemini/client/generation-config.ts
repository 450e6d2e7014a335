import type { ChatRequest } from '../../../kinds/chat/request.ts'
import { copyObject, invalidInput, quoted, type RawObject } from '../../../kinds/fields/body-fields.ts'
import type { GenerateContentRequest } from './request.ts'
import {
  flagMember,
  listMember,
  member,
  numberMember,
  objectMember,
  textMember,
  textsMember,
  unknownMembers,
  wholeMember,
} from './members.ts'
import { jsonSchemaOf } from './tools.ts'

const PATH = 'generationConfig'
const STOPS_MAX = 5
const CANDIDATES_MAX = 8
/** A bare word out of an enumeration, which other protocols cannot ask for. */
const ENUM = 'text/x.enum'
const MIME_TYPES = ['', 'text/plain', 'application/json', ENUM]
const LEVELS = ['MINIMAL', 'LOW', 'MEDIUM', 'HIGH']
/** Fields that are read here; others are dropped and named. */
const KNOWN: ReadonlySet<string> = new Set([
  'temperature',
  'topP',
  'topK',
  'presencePenalty',
  'frequencyPenalty',
  'seed',
  'stopSequences',
  'maxOutputTokens',
  'candidateCount',
  'responseMimeType',
  'responseSchema',
  'responseJsonSchema',
  'responseModalities',
  'thinkingConfig',
  'speechConfig',
  'imageConfig',
])

export interface GenerationConfig {
  readonly maxTokens: number | null
  readonly n: number
  readonly parameters: Readonly<Record<string, unknown>>
  readonly responseFormat: ChatRequest['responseFormat']
  readonly showsThoughts: boolean
  readonly nativeOnly: GenerateContentRequest['nativeOnly']
}

export function generationConfigOf(body: RawObject, dropped: Set<string>): GenerationConfig {
  const config = objectMember(body, PATH, PATH) ?? {}
  for (const name of unknownMembers(config, KNOWN)) dropped.add(`${PATH}.${name}`)
  const thinking = objectMember(config, 'thinkingConfig', `${PATH}.thinkingConfig`) ?? {}
  return {
    maxTokens: wholeMember(config, 'maxOutputTokens', `${PATH}.maxOutputTokens`, [1, Number.MAX_SAFE_INTEGER]) ?? null,
    n: wholeMember(config, 'candidateCount', `${PATH}.candidateCount`, [1, CANDIDATES_MAX]) ?? 1,
    parameters: given({
      ...sampling(config),
      reasoning: reasoningOf(thinking),
      ...modalities(config),
    }),
    responseFormat: responseFormatOf(config),
    showsThoughts: flagMember(thinking, 'includeThoughts', `${PATH}.thinkingConfig.includeThoughts`) === true,
    nativeOnly: member(config, 'responseMimeType') === ENUM ? { path: `${PATH}.responseMimeType`, value: ENUM } : null,
  }
}

function given(parameters: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== undefined))
}

function sampling(config: RawObject): Readonly<Record<string, unknown>> {
  const number = (name: string, low: number, high: number): number | undefined =>
    numberMember(config, name, `${PATH}.${name}`, [low, high])
  const topP = number('topP', 0, 1)
  const topK = number('topK', 0, 1e9)
  const stops = listMember(config, 'stopSequences', `${PATH}.stopSequences`)
  if (stops.length > STOPS_MAX || stops.some((stop) => typeof stop !== 'string' || stop === ''))
    throw invalidInput(`${PATH}.stopSequences`, `must be an array of at most ${STOPS_MAX} non-empty strings`)
  return {
    temperature: number('temperature', 0, 2),
    // Zero means only the most likely token, as a top_k of 1 does elsewhere.
    top_p: topP === 0 ? undefined : topP,
    top_k: topP === 0 ? 1 : topK === 0 ? undefined : topK,
    presence_penalty: number('presencePenalty', -2, 2),
    frequency_penalty: number('frequencyPenalty', -2, 2),
    seed: number('seed', -(2 ** 31), 2 ** 32),
    stop: stops.length === 0 ? undefined : stops,
  }
}

/** A budget of 0 is no thinking, -1 is as much as the model likes. */
function reasoningOf(thinking: RawObject): Readonly<Record<string, unknown>> | undefined {
  const path = `${PATH}.thinkingConfig`
  const budget = wholeMember(thinking, 'thinkingBudget', `${path}.thinkingBudget`, [-1, Number.MAX_SAFE_INTEGER])
  const level = textMember(thinking, 'thinkingLevel', `${path}.thinkingLevel`)?.toUpperCase()
  if (level !== undefined && level !== 'THINKING_LEVEL_UNSPECIFIED' && !LEVELS.includes(level))
    throw invalidInput(`${path}.thinkingLevel`, `'${quoted(level)}' is not allowed. Allowed: ${LEVELS.join(', ')}`)
  if (budget === 0) return { enabled: false }
  if (budget !== undefined && budget > 0) return { max_tokens: budget }
  if (level !== undefined && LEVELS.includes(level)) return { effort: level.toLowerCase() }
  return budget === -1 || member(thinking, 'includeThoughts') === true ? { enabled: true } : undefined
}

function modalities(config: RawObject): Readonly<Record<string, unknown>> {
  const names = textsMember(config, 'responseModalities', `${PATH}.responseModalities`).map((name) =>
    name.toLowerCase(),
  )
  const image = objectMember(config, 'imageConfig', `${PATH}.imageConfig`) ?? {}
  const aspect = textMember(image, 'aspectRatio', `${PATH}.imageConfig.aspectRatio`)
  const size = textMember(image, 'imageSize', `${PATH}.imageConfig.imageSize`)
  const picture = given({ aspect_ratio: aspect, image_size: size })
  return {
    // Every answer has text, so text need not be requested.
    modalities: names.every((name) => name === 'text') ? undefined : names,
    audio: names.includes('audio') ? voiceOf(config) : undefined,
    image_config: Object.keys(picture).length === 0 ? undefined : picture,
  }
}

function voiceOf(config: RawObject): Readonly<Record<string, unknown>> {
  const speech = objectMember(config, 'speechConfig', `${PATH}.speechConfig`) ?? {}
  const voice = objectMember(speech, 'voiceConfig', `${PATH}.speechConfig.voiceConfig`) ?? {}
  const made = objectMember(voice, 'prebuiltVoiceConfig', `${PATH}.speechConfig.voiceConfig.prebuiltVoiceConfig`) ?? {}
  const name = textMember(made, 'voiceName', `${PATH}.speechConfig.voiceConfig.prebuiltVoiceConfig.voiceName`)
  return { ...(name === undefined ? {} : { voice: name }), format: 'pcm16' }
}

function responseFormatOf(config: RawObject): ChatRequest['responseFormat'] {
  const plain = objectMember(config, 'responseJsonSchema', `${PATH}.responseJsonSchema`)
  const own = objectMember(config, 'responseSchema', `${PATH}.responseSchema`)
  const type = textMember(config, 'responseMimeType', `${PATH}.responseMimeType`)
  if (type !== undefined && !MIME_TYPES.includes(type))
    throw invalidInput(
      `${PATH}.responseMimeType`,
      `'${quoted(type)}' is not allowed. Allowed: ${MIME_TYPES.slice(1).join(', ')}`,
    )
  if (plain === undefined && own === undefined) return type === 'application/json' ? { type: 'json_object' } : null
  const schema =
    plain !== undefined
      ? copyObject(plain, `${PATH}.responseJsonSchema`)
      : jsonSchemaOf(own ?? {}, `${PATH}.responseSchema`)
  return { type: 'json_schema', json_schema: { name: 'response', schema } }
}

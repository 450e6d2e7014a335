import { inputSize } from '../../../kinds/chat/parts.ts'
import type { ChatRequest } from '../../../kinds/chat/request.ts'
import { badMessage, bodyObject, sessionIdOf, invalidInput, type RawObject } from '../../../kinds/fields/body-fields.ts'
import { fallbackModelsOf, parseProviderPreferences } from '../../../kinds/fields/routed-request.ts'
import { contentsOf } from './contents.ts'
import { generationConfigOf } from './generation-config.ts'
import { listMember, member, objectMember, unknownMembers } from '../members.ts'
import { type GenerateContentRequest, WITHHELD, WITHHELD_CONFIG } from './request.ts'
import { toolsOf, type GeminiTools } from './tools.ts'

/** Fields that are read, and our fields of every paid body. */
const KNOWN: ReadonlySet<string> = new Set([
  'model',
  'contents',
  'systemInstruction',
  'tools',
  'toolConfig',
  'generationConfig',
  'safetySettings',
  'provider',
  'models',
  'sessionId',
  'serviceTier',
])

/** The parts of a call in its path and query. */
export interface GenerateContentTarget {
  /** The model in the path. */
  readonly model: string
  readonly stream: boolean
  readonly framing: 'sse' | 'array'
}

/** Reads the body of `generateContent` (clients.md 4) as a chat. */
export function parseGenerateContent(json: unknown, call: GenerateContentTarget): GenerateContentRequest {
  const body = bodyObject(json)
  const dropped = new Set<string>()
  const { messages, mistyped, unreadBytes: unread } = contentsOf(body, dropped)
  const tools = toolsOf(body)
  const config = generationConfigOf(body, dropped)
  const withheld = withheldOf(body, tools)
  noteOthers(body, dropped)
  const { maxTokens, n, responseFormat, showsThoughts } = config
  // Its own words would say something else than what is held for, and nobody else knows its words.
  if (mistyped !== null && config.nativeOnly !== null)
    throw badMessage(mistyped, 'must hold a file of the type that it names')
  const search = tools.search === null ? {} : { web_search_options: {} }
  const { inputModalities, textBytes } = inputSize(messages, tools.tools, responseFormat)
  // A byte is at most one token, also where only a provider of the protocol reads it.
  const unreadBytes = unread + tools.unreadBytes
  return {
    chat: {
      model: call.model,
      fallbackModels: fallbackModelsOf(body),
      messages,
      stream: call.stream,
      includeUsage: false,
      maxTokens,
      n,
      tools: tools.tools,
      toolChoice: tools.choice,
      responseFormat,
      parameters: { ...config.parameters, ...search, ...tierOf(body) },
      // The writer hides thoughts but keeps their signatures.
      hidesReasoning: false,
      provider: parseProviderPreferences(body),
      sessionId: sessionIdOf(body),
      inputModalities,
      textBytes: textBytes + unreadBytes,
      unreadBytes,
    },
    body,
    framing: call.framing,
    showsThoughts,
    search: tools.search,
    needsSearch: tools.search !== null && tools.tools === null,
    nativeOnly: config.nativeOnly,
    isMistyped: mistyped !== null,
    withheld,
    untranslated: [...dropped].filter((name) => !withheld.includes(name)),
  }
}

/** The names of the enumeration have a prefix. */
function tierOf(body: RawObject): { readonly service_tier?: string } {
  const tier = member(body, 'serviceTier')
  return typeof tier === 'string' ? { service_tier: tier.toLowerCase().replace(/^service_tier_(?!unsp)/, '') } : {}
}

/** Reads the body of `countTokens`, which is a request or contains one. */
export function parseCountTokens(json: unknown, model: string): ChatRequest {
  const body = bodyObject(json)
  const inner = objectMember(body, 'generateContentRequest', 'generateContentRequest')
  return parseGenerateContent(inner ?? body, { model, stream: false, framing: 'array' }).chat
}

/** Fields that name the operator's account, or are billed without a price. */
function withheldOf(body: RawObject, { tools, search, hosted }: GeminiTools): readonly string[] {
  if (member(body, 'cachedContent') !== undefined)
    throw invalidInput('cachedContent', 'is not offered: send the whole contents, repeated ones are cached as they are')
  const [first] = hosted
  if (first !== undefined && tools === null && search === null)
    throw invalidInput(
      'tools',
      `'${first.slice(0, 64)}' is not offered: it has no price here. Only functions of your own are`,
    )
  const config = objectMember(body, 'generationConfig', 'generationConfig') ?? {}
  const named = WITHHELD.filter((name) => member(body, name) !== undefined)
  const configured = WITHHELD_CONFIG.filter((name) => member(config, name) !== undefined)
  return [...hosted.map((name) => `tools.${name}`), ...named, ...configured.map((name) => `generationConfig.${name}`)]
}

function noteOthers(body: RawObject, dropped: Set<string>): void {
  if (listMember(body, 'safetySettings', 'safetySettings').length > 0) dropped.add('safetySettings')
  for (const name of unknownMembers(body, KNOWN)) dropped.add(name)
}

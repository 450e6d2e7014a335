import { isObject, wordOf, type RawObject } from '../../../kinds/fields/body-fields.ts'
import { member, spellings } from '../members.ts'
import { type GenerateContentRequest, WITHHELD, WITHHELD_CONFIG } from './request.ts'
import { ownSignature } from '../signed-parts.ts'
import { isSearch } from './tools.ts'

/** Facts of an endpoint that change a body. */
export interface NativeTerms {
  readonly maxTokens: number | null
  /** Whether searches have a price at the endpoint. */
  readonly searches: boolean
  /** Kinds of output that have a price at the endpoint; null = as requested. */
  readonly modalities: readonly string[] | null
  /** The signer of the endpoint's signatures; null = the Gemini API, whose own signatures have no mark. */
  readonly signer: string | null
}

/** Our own fields, fields of the operator's account, and fields with a separate price. */
const REMOVED: ReadonlySet<string> = new Set([
  'model',
  'models',
  'provider',
  'session_id',
  'sessionId',
  ...[...WITHHELD, 'serviceTier'].flatMap(spellings),
])
const REMOVED_CONFIG: ReadonlySet<string> = new Set(WITHHELD_CONFIG.flatMap(spellings))

/**
 * The client's own body for a provider of the protocol (clients.md D-14.2): every field stays, known or unknown, except
 * those that cost money or name an account.
 */
export function nativeBody({ body }: GenerateContentRequest, terms: NativeTerms): Record<string, unknown> {
  const native: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(body)) if (!REMOVED.has(name)) native[name] = value
  const config = configOf(member(body, 'generationConfig'), terms)
  delete native['generation_config']
  if (Object.keys(config).length > 0) native['generationConfig'] = config
  const tools = toolsOf(native['tools'], terms)
  if (tools.length > 0) native['tools'] = tools
  else {
    delete native['tools']
    delete native['toolConfig']
    delete native['tool_config']
  }
  const contents = native['contents']
  if (Array.isArray(contents))
    native['contents'] = contents.map((content: unknown) => ownContent(content, terms.signer))
  else if (isObject(contents)) native['contents'] = [ownContent(contents, terms.signer)]
  return native
}

function configOf(given: unknown, { maxTokens, modalities }: NativeTerms): Record<string, unknown> {
  const config: Record<string, unknown> = {}
  if (isObject(given))
    for (const [name, value] of Object.entries(given)) if (!REMOVED_CONFIG.has(name)) config[name] = value
  delete config['max_output_tokens']
  if (maxTokens === null) delete config['maxOutputTokens']
  else config['maxOutputTokens'] = maxTokens
  const asked = member(config, 'responseModalities')
  if (!Array.isArray(asked) || modalities === null) return config
  delete config['response_modalities']
  const kept = asked.filter((name: unknown) => modalities.includes(wordOf(name).toLowerCase()))
  if (kept.length === 0) delete config['responseModalities']
  else config['responseModalities'] = kept
  return config
}

/** The client's functions, and searches if they have a price. */
function toolsOf(tools: unknown, { searches }: NativeTerms): readonly RawObject[] {
  if (!Array.isArray(tools)) return []
  return tools.flatMap((tool: unknown) => {
    if (!isObject(tool)) return []
    const kept = Object.entries(tool).filter(
      ([name]) => name === 'functionDeclarations' || name === 'function_declarations' || (searches && isSearch(name)),
    )
    return kept.length === 0 ? [] : [Object.fromEntries(kept)]
  })
}

/**
 * The content without signatures of other models and providers, which would be refused, and without the mark on the
 * provider's own.
 */
function ownContent(content: unknown, signer: string | null): unknown {
  const parts = isObject(content) ? content['parts'] : null
  if (!isObject(content) || !Array.isArray(parts)) return content
  return { ...content, parts: parts.map((part: unknown) => ownPart(part, signer)) }
}

function ownPart(part: unknown, signer: string | null): unknown {
  const signature = isObject(part) ? member(part, 'thoughtSignature') : undefined
  if (!isObject(part) || typeof signature !== 'string') return part
  const own = ownSignature(signature, signer)
  if (own === signature) return part
  const { thoughtSignature: _own, thought_signature: _python, ...rest } = part
  return own === null ? rest : { ...rest, thoughtSignature: own }
}

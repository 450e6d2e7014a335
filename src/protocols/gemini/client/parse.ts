import { inputSize, mediaPart, mediumOfPart } from '../../../kinds/chat/parts.ts'
import type { ChatRequest, ChatMessage, ChatPart, ChatToolCall } from '../../../kinds/chat/request.ts'
import {
  badMessage,
  bodyObject,
  sessionIdOf,
  invalidInput,
  type RawObject,
  copyObject,
  isObject,
  quoted,
} from '../../../kinds/fields/body-fields.ts'
import { fallbackModelsOf, parseProviderPreferences } from '../../../kinds/fields/routed-request.ts'
import { type GenerateContentRequest, WITHHELD, WITHHELD_CONFIG, generationConfigOf } from './request.ts'
import { listMember, member, objectMember, unknownMembers, flagMember, spellings, textMember } from '../members.ts'
import { GenerateContentBody } from './schema.ts'
import { toolsOf, type GeminiTools } from './tools.ts'
import { ApiError } from '../../../base/errors.ts'
import { detailsOf } from '../signed-parts.ts'
import { isBase64, isVideoSite, mediumOf, typeOfAddress } from '../../../kinds/fields/media.ts'

/** Fields that are read, and our fields of every paid body. */
const KNOWN: ReadonlySet<string> = new Set([
  ...Object.keys(GenerateContentBody.properties),
  'model',
  'sessionId',
  'serviceTier',
])

/** The parts of a call that are in its path and query. */
export interface GenerateContentTarget {
  /** The model in the path. */
  readonly model: string
  readonly stream: boolean
  readonly framing: 'sse' | 'array'
}

const MEDIA_TYPE = /^[\w.+-]+\/[\w.+-]+(?:;[\w.=+; -]+)?$/

/** A part with the type that the client states. */
interface TypedPart {
  readonly part: ChatPart
  /** Whether its content has the stated type, so that the client's own words can be sent. */
  readonly isTrue: boolean
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
  // The client's own words name another type than the one that is held for, but only a provider of the protocol
  // understands them.
  if (mistyped !== null && config.nativeOnly !== null)
    throw badMessage(mistyped, 'must hold a file of the type that it names')
  const search = tools.search === null ? {} : { web_search_options: {} }
  const { inputModalities, textBytes } = inputSize(messages, tools.tools, responseFormat)
  // A byte is at most one token, even if only a provider of the protocol reads it.
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
      // The writer hides thoughts but still sends their signatures.
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

/** The tier; the names of the enumeration have a prefix. */
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

/** Fields that name the operator's account, or are billed without a price here. */
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

/** `inlineData`: bytes in base64; some clients use the URL-safe alphabet. */
function inlinePart(raw: RawObject, path: string): TypedPart {
  const mimeType = mimeTypeOf(raw, path)
  const given = textMember(raw, 'data', `${path}.data`) ?? ''
  const data = given.replaceAll('-', '+').replaceAll('_', '/')
  if (data === '') throw badMessage(path, 'data is required')
  if (!isBase64(data)) throw new ApiError('invalid_base64', `${path}.data is not valid base64`)
  return typedPart(raw, { mimeType, url: `data:${mimeType};base64,${data}` }, path)
}

/** `fileData`: the address of a file. */
function filePart(raw: RawObject, path: string): TypedPart {
  const url = textMember(raw, 'fileUri', `${path}.fileUri`) ?? ''
  if (url === '') throw badMessage(path, 'fileUri is required')
  const isGiven = textMember(raw, 'mimeType', `${path}.mimeType`) !== undefined
  // An address without a type is usually that of a video site.
  const mimeType = isGiven ? mimeTypeOf(raw, path) : (typeOfAddress(url) ?? 'video/*')
  const { part, isTrue } = typedPart(raw, { mimeType, url }, path)
  // Without a type, the provider judges by what it fetches.
  return { part, isTrue: isTrue && (isGiven || isVideoSite(url)) }
}

function typedPart(
  raw: RawObject,
  { mimeType, url }: { readonly mimeType: string; readonly url: string },
  path: string,
): TypedPart {
  const medium = mediumOf(mimeType)
  const filename = textMember(raw, 'displayName', `${path}.displayName`)
  const part = mediaPart({ url, as: medium, filename, mediaType: mimeType }, path)
  return { part, isTrue: mediumOfPart(part) === medium }
}

function mimeTypeOf(raw: RawObject, path: string): string {
  const mimeType = textMember(raw, 'mimeType', `${path}.mimeType`) ?? ''
  if (MEDIA_TYPE.test(mimeType)) return mimeType.toLowerCase()
  throw badMessage(`${path}.mimeType`, "must be a media type, such as 'image/png'")
}

const NO_CONTENTS = "Parameter 'contents' is required"

/** A turn of the model. */
interface ModelTurn {
  readonly content: ChatPart[]
  reasoning: string
  readonly details: unknown[]
  readonly calls: ChatToolCall[]
}

/** `systemInstruction` and `contents` as messages. */
interface ReadContents {
  readonly messages: readonly ChatMessage[]
  /** The first path at which a file is not what its type says; null = none. */
  readonly mistyped: string | null
  /** The bytes that only a provider of the protocol reads, and that are no part of the messages. */
  readonly unreadBytes: number
}

/** Members that are read at their own place: of any part, of a call and of a result. */
const READ = namesOf('text', 'inlineData', 'fileData', 'thought', 'thoughtSignature')
const READ_WITH_CALL = namesOf(...READ, 'functionCall')
const READ_WITH_RESULT = namesOf(...READ, 'functionResponse')
const READ_OF_CALL = namesOf('name', 'id', 'args')
const READ_OF_RESULT = namesOf('name', 'id', 'response', 'parts')
/** Members with the client's own JSON, in which names have no meaning. */
const OWN: ReadonlySet<string> = new Set(['args', 'response'])

function namesOf(...names: readonly string[]): ReadonlySet<string> {
  return new Set(names.flatMap(spellings))
}

/** The contents as messages. Names of parts that no message can hold are added to `dropped`. */
function contentsOf(body: RawObject, dropped: Set<string>): ReadContents {
  const reader = new ContentsReader(dropped)
  const system = member(body, 'systemInstruction')
  if (system !== undefined) reader.system(system)
  const given = member(body, 'contents')
  const contents: readonly unknown[] = Array.isArray(given) ? given : given === undefined ? [] : [given]
  for (const [index, content] of contents.entries()) reader.turn(content, `contents[${index}]`)
  reader.end()
  if (contents.length === 0) throw new ApiError('missing_messages', NO_CONTENTS)
  if (!reader.messages.some(({ role }) => role !== 'system')) reader.messages.push({ role: 'user', content: '' })
  return reader
}

class ContentsReader {
  readonly messages: ChatMessage[] = []
  mistyped: string | null = null
  unreadBytes = 0
  readonly #dropped: Set<string>
  /** Calls by function name, the oldest first: results from older clients have only the name. */
  readonly #named = new Map<string, { readonly ids: string[]; next: number }>()
  readonly #answered = new Set<string>()
  #calls = 0
  /** The model's turn that is being read: clients store a streamed turn as one content for each chunk. */
  #turn: ModelTurn | null = null

  constructor(dropped: Set<string>) {
    this.#dropped = dropped
  }

  system(raw: unknown): void {
    const parts = partsOf(raw, 'systemInstruction')
    const content = parts.flatMap((part, index): readonly ChatPart[] => {
      const path = `systemInstruction.parts[${index}]`
      if (this.#media(part, path).length > 0) throw badMessage(path, 'must be text: files belong in contents')
      const text = textMember(part, 'text', `${path}.text`)
      if (text === undefined) this.#dropped.add('systemInstruction.parts')
      return text === undefined || text === '' ? [] : [{ type: 'text', text }]
    })
    if (content.length > 0) this.messages.push({ role: 'system', content: shortest(content) })
  }

  turn(raw: unknown, path: string): void {
    const parts = partsOf(raw, path)
    const role = isObject(raw) ? (member(raw, 'role') ?? 'user') : 'user'
    if (role === 'model') this.#modelTurn(parts, path)
    else if (role === 'user' || role === 'function') this.#userTurn(parts, path)
    else
      throw new ApiError('invalid_message_role', `${path}.role '${quoted(role)}' is not allowed. Allowed: user, model`)
  }

  end(): void {
    if (this.#turn === null) return
    const { content, reasoning, details, calls } = this.#turn
    this.#turn = null
    if (content.length === 0 && calls.length === 0 && details.length === 0) return
    this.messages.push({
      role: 'assistant',
      content: content.length === 0 ? null : assistantContent(content),
      ...(reasoning === '' ? {} : { reasoning }),
      ...(details.length === 0 ? {} : { reasoning_details: details }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    })
  }

  /** Tool results come before the user's text. */
  #userTurn(parts: readonly RawObject[], path: string): void {
    this.end()
    const content: ChatPart[] = []
    let results = 0
    for (const [index, part] of parts.entries()) {
      const at = `${path}.parts[${index}]`
      const result = objectMember(part, 'functionResponse', `${at}.functionResponse`)
      if (result === undefined) content.push(...this.#said(part, at))
      else {
        content.push(...this.#media(part, at, READ_WITH_RESULT))
        this.messages.push(this.#result(result, `${at}.functionResponse`))
        results += 1
      }
    }
    if (content.length > 0 || results === 0) this.messages.push({ role: 'user', content: shortest(content) })
  }

  #modelTurn(parts: readonly RawObject[], path: string): void {
    this.#turn ??= { content: [], reasoning: '', details: [], calls: [] }
    for (const [index, part] of parts.entries()) this.#modelPart(this.#turn, part, `${path}.parts[${index}]`)
  }

  #modelPart(turn: ModelTurn, part: RawObject, path: string): void {
    const called = objectMember(part, 'functionCall', `${path}.functionCall`)
    const signature = textMember(part, 'thoughtSignature', `${path}.thoughtSignature`) ?? ''
    let callId: string | null = null
    const isThought = flagMember(part, 'thought', `${path}.thought`) === true
    // A provider of the protocol reads the pictures of its own thoughts again.
    if (called !== undefined || isThought) turn.content.push(...this.#media(part, path, READ_WITH_CALL))
    if (called !== undefined) {
      const call = this.#call(called, `${path}.functionCall`)
      turn.content.push(...this.#media(called, `${path}.functionCall`, READ_OF_CALL))
      callId = call.id
      turn.calls.push(call)
    } else if (isThought) turn.reasoning += textMember(part, 'text', `${path}.text`) ?? ''
    else turn.content.push(...this.#said(part, path))
    if (signature !== '') turn.details.push(...detailsOf(signature, callId, turn.details.length))
  }

  #call(raw: RawObject, path: string): ChatToolCall {
    const name = textMember(raw, 'name', `${path}.name`) ?? ''
    if (name === '') throw badMessage(path, 'name is required')
    this.#calls += 1
    const id = textMember(raw, 'id', `${path}.id`) || `call_${this.#calls}`
    const args = objectMember(raw, 'args', `${path}.args`) ?? {}
    const named = this.#named.get(name)
    if (named === undefined) this.#named.set(name, { ids: [id], next: 0 })
    else named.ids.push(id)
    return { id, type: 'function', function: { name, arguments: JSON.stringify(copyObject(args, `${path}.args`)) } }
  }

  #result(raw: RawObject, path: string): ChatMessage {
    const name = textMember(raw, 'name', `${path}.name`) ?? ''
    const id = textMember(raw, 'id', `${path}.id`) || this.#oldest(name)
    if (id === null) throw badMessage(path, `no functionCall '${quoted(name)}' before it waits for a result`)
    this.#answered.add(id)
    const response = objectMember(raw, 'response', `${path}.response`) ?? {}
    const text = resultText(response, `${path}.response`)
    const media = [
      ...this.#media(raw, path, READ_OF_RESULT),
      ...listMember(raw, 'parts', `${path}.parts`).flatMap((part, index) =>
        this.#said(partOf(part, `${path}.parts[${index}]`), `${path}.parts[${index}]`),
      ),
    ]
    return {
      role: 'tool',
      tool_call_id: id,
      content: media.length === 0 ? text : [{ type: 'text', text }, ...media],
      ...(Object.hasOwn(response, 'error') ? { is_error: true as const } : {}),
    }
  }

  /** The oldest call of a function without a result. */
  #oldest(name: string): string | null {
    const named = this.#named.get(name)
    if (named === undefined) return null
    while (this.#answered.has(named.ids[named.next] ?? '')) named.next += 1
    return named.ids[named.next] ?? null
  }

  /** The message content of a part: text, a file, or code that the provider has run. */
  #said(part: RawObject, path: string): readonly ChatPart[] {
    const media = this.#media(part, path)
    const text = textMember(part, 'text', `${path}.text`)
    if (text !== undefined && text !== '') return [{ type: 'text', text }, ...media]
    if (text !== undefined || media.length > 0) return media
    const code = objectMember(part, 'executableCode', path)
    if (code !== undefined) return [fenced(textMember(code, 'code', path) ?? '')]
    const output = objectMember(part, 'codeExecutionResult', path)
    if (output !== undefined) return [fenced(textMember(output, 'output', path) ?? '')]
    for (const name of Object.keys(part)) this.#dropped.add(`contents.parts.${name}`)
    return []
  }

  /**
   * The files of a part, wherever they are in it except in members that are `read` elsewhere: a provider of the
   * protocol gets the client's own words. Members that are not read count as text.
   */
  #media(part: RawObject, path: string, read = READ): readonly ChatPart[] {
    const unread = Object.entries(part).filter(([name]) => !read.has(name))
    for (const [, value] of unread) this.unreadBytes += Buffer.byteLength(JSON.stringify(value))
    return [...this.#filesOf(part, path), ...unread.flatMap(([name, value]) => this.#filesIn(value, `${path}.${name}`))]
  }

  #filesIn(value: unknown, path: string): readonly ChatPart[] {
    const found: ChatPart[] = []
    const waiting: unknown[] = [value]
    while (waiting.length > 0) {
      const next = waiting.pop()
      if (Array.isArray(next)) for (const item of next) waiting.push(item)
      if (!isObject(next)) continue
      found.push(...this.#filesOf(next, path))
      for (const [name, inner] of Object.entries(next)) if (!OWN.has(name)) waiting.push(inner)
    }
    return found
  }

  #filesOf(part: RawObject, path: string): readonly ChatPart[] {
    const inline = objectMember(part, 'inlineData', `${path}.inlineData`)
    const file = objectMember(part, 'fileData', `${path}.fileData`)
    const found: readonly TypedPart[] = [
      ...(inline === undefined ? [] : [inlinePart(inline, `${path}.inlineData`)]),
      ...(file === undefined ? [] : [filePart(file, `${path}.fileData`)]),
    ]
    if (found.some(({ isTrue }) => !isTrue)) this.mistyped ??= path
    return found.map(({ part: held }) => held)
  }
}

function partsOf(raw: unknown, path: string): readonly RawObject[] {
  if (!isObject(raw)) throw badMessage(path, 'must be an object with parts')
  const parts = member(raw, 'parts')
  if (isObject(parts)) return [parts]
  if (parts !== undefined && !Array.isArray(parts)) throw badMessage(path, 'parts must be an array')
  return (parts ?? []).map((part: unknown, index: number) => partOf(part, `${path}.parts[${index}]`))
}

function partOf(raw: unknown, path: string): RawObject {
  if (!isObject(raw)) throw badMessage(path, 'must be an object')
  return raw
}

/** The shortest form of a content: a single text needs no list. */
function shortest(content: readonly ChatPart[]): string | readonly ChatPart[] {
  const [only] = content
  if (only === undefined) return ''
  return content.length === 1 && only?.type === 'text' ? only.text : content
}

/** The content of a turn whose pieces came from a stream. */
function assistantContent(content: readonly ChatPart[]): string | readonly ChatPart[] {
  return content.every((part) => part.type === 'text') ? content.map(({ text }) => text).join('') : content
}

/** The only text of a result, as client functions return it, or the whole result as JSON. */
function resultText(response: RawObject, path: string): string {
  const keys = Object.keys(response)
  const { output, error } = response
  const only = output ?? error
  return keys.length === 1 && typeof only === 'string' ? only : JSON.stringify(copyObject(response, path))
}

function fenced(text: string): ChatPart {
  return { type: 'text', text: `\n\`\`\`\n${text.trimEnd()}\n\`\`\`\n` }
}

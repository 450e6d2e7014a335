import { ApiError } from '../../../base/errors.ts'
import {
  field,
  invalidInput,
  isObject,
  quoted,
  stringField,
  type RawObject,
} from '../../../kinds/fields/body-fields.ts'
import { nativeCopy } from '../native-parts.ts'
import type { ChatForm, InputItem, MessageRole, ToolNames } from '../request.ts'
import { decodeDetails } from '../../../kinds/answer/provenance.ts'
import { mediaPart } from '../../../kinds/chat/parts.ts'
import type { ChatPart, ChatMessage } from '../../../kinds/chat/request.ts'
import { isBase64 } from '../../../kinds/fields/media.ts'

const TYPES = ['input_text', 'output_text', 'input_image', 'input_file', 'input_audio', 'input_video', 'refusal']

/** The content parts of an item, in chat's form. */
function inputParts(parts: readonly unknown[], path: string): readonly ChatPart[] {
  return parts.map((part, index) => partOf(part, `${path}[${index}]`))
}

/** Whether a part has a type that is newer than this reader. */
function isNewPart(raw: unknown): boolean {
  const type = isObject(raw) ? field(raw, 'type') : undefined
  return typeof type === 'string' && type !== 'text' && !TYPES.includes(type)
}

function partOf(raw: unknown, path: string): ChatPart {
  if (!isObject(raw)) throw invalidInput(path, 'must be an object')
  const type = field(raw, 'type')
  switch (type) {
    case 'input_text':
    case 'output_text':
    // Clients that were made for chat use this form.
    case 'text':
      return { type: 'text', text: text(raw, 'text', path) }
    case 'refusal':
      return { type: 'text', text: text(raw, 'refusal', path) }
    case 'input_image':
      return mediaPart({ url: imageOf(raw, path), as: 'image' }, `${path}.image_url`, detailOf(raw, path))
    case 'input_file':
      return filePart(raw, path)
    case 'input_audio':
      return { type, input_audio: audioOf(raw, path) }
    case 'input_video':
      return mediaPart({ url: filled(raw, 'video_url', path), as: 'video' }, `${path}.video_url`)
    case undefined:
      throw invalidInput(`${path}.type`, 'is required')
    default:
      throw invalidInput(`${path}.type`, `'${quoted(type)}' is not allowed. Allowed: ${TYPES.join(', ')}`)
  }
}

function text(raw: RawObject, name: string, path: string): string {
  const value = field(raw, name)
  if (typeof value === 'string') return value
  throw invalidInput(`${path}.${name}`, 'must be a string')
}

function filled(raw: RawObject, name: string, path: string): string {
  const value = text(raw, name, path)
  if (value !== '') return value
  throw invalidInput(`${path}.${name}`, 'must not be empty')
}

function notStored(raw: RawObject, path: string): void {
  if (field(raw, 'file_id') !== undefined)
    throw invalidInput(`${path}.file_id`, 'files are not stored here, send the data or a URL instead')
}

function imageOf(raw: RawObject, path: string): string {
  const given = field(raw, 'image_url')
  if (given === undefined) notStored(raw, path)
  // Chat has an object here.
  return isObject(given) ? filled(given, 'url', `${path}.image_url`) : filled(raw, 'image_url', path)
}

function detailOf(raw: RawObject, path: string): { detail?: string } {
  const detail = field(raw, 'detail')
  if (detail === undefined) return {}
  if (typeof detail !== 'string') throw invalidInput(`${path}.detail`, 'must be a string')
  return { detail }
}

function filePart(raw: RawObject, path: string): ChatPart {
  const name = field(raw, 'file_data') === undefined && field(raw, 'file_url') !== undefined ? 'file_url' : 'file_data'
  if (field(raw, name) === undefined) notStored(raw, path)
  const url = filled(raw, name, path)
  const filename = field(raw, 'filename')
  if (filename !== undefined && typeof filename !== 'string') throw invalidInput(`${path}.filename`, 'must be a string')
  return mediaPart({ url, as: 'file', filename }, `${path}.${name}`)
}

function audioOf(raw: RawObject, path: string): { data: string; format: string } {
  const audio = field(raw, 'input_audio')
  if (!isObject(audio)) throw invalidInput(`${path}.input_audio`, 'must be an object')
  const data = filled(audio, 'data', `${path}.input_audio`)
  const format = filled(audio, 'format', `${path}.input_audio`)
  if (!isBase64(data)) throw new ApiError('invalid_base64', 'input_audio.data is not valid base64')
  return { data, format }
}

const ROLES: readonly MessageRole[] = ['user', 'assistant', 'system', 'developer']
/** Parts of reasoning with text; undefined = a part without a type. */
const THOUGHTS: ReadonlySet<unknown> = new Set(['summary_text', 'reasoning_text', undefined])
/** Records of the client, which no model reads. */
const SKIPPED: ReadonlySet<unknown> = new Set(['ghost_snapshot'])

/** The elements of `input` of a Responses request; a text becomes a message of the user. */
export function inputElements(body: RawObject): readonly unknown[] {
  const input = field(body, 'input')
  if (input === undefined || input === '' || (Array.isArray(input) && input.length === 0))
    throw new ApiError('missing_input', "Parameter 'input' is required")
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }]
  if (!Array.isArray(input)) throw invalidInput('input', 'must be a string or an array of input items')
  return input
}

/** Reads items of a conversation (wire.md D-2.4). */
export function parseItems(elements: readonly unknown[], path: string): readonly InputItem[] {
  return elements.flatMap((item, index) =>
    isObject(item) && SKIPPED.has(field(item, 'type')) ? [] : [itemOf(item, `${path}[${index}]`)],
  )
}

function itemOf(raw: unknown, path: string): InputItem {
  if (!isObject(raw)) throw invalidInput(path, 'must be an object')
  const type = field(raw, 'type') ?? (field(raw, 'role') === undefined ? undefined : 'message')
  switch (type) {
    case 'message':
      return {
        type: 'message',
        role: roleOf(raw, path),
        content: contentOf(raw, 'content', path),
        phase: stringField(raw, 'phase', `${path}.phase`) ?? null,
      }
    case 'function_call':
      return {
        type: 'function_call',
        callId: named(raw, 'call_id', path),
        name: named(raw, 'name', path),
        arguments: stringField(raw, 'arguments', `${path}.arguments`) ?? '',
        namespace: stringField(raw, 'namespace', `${path}.namespace`) ?? null,
      }
    case 'function_call_output':
      return functionOutput(raw, path)
    case 'reasoning':
      return reasoningOf(raw, path)
    case 'item_reference':
      throw invalidInput(
        path,
        "type 'item_reference' is not supported here: send the item itself, or ask POST /v1/responses",
      )
    case undefined:
      throw invalidInput(`${path}.type`, 'is required')
    default:
      // Clients and providers introduce item types that are unknown here.
      if (typeof type === 'string' && type !== '') return nativeOf(raw, path)
      throw invalidInput(`${path}.type`, 'must be a non-empty string')
  }
}

/**
 * The output of a function. A tool may return nothing, or parts that only newer models read: the result of a past turn
 * is never refused for that.
 */
function functionOutput(raw: RawObject, path: string): InputItem {
  const callId = named(raw, 'call_id', path)
  const output = field(raw, 'output')
  if (Array.isArray(output) && output.some(isNewPart)) return nativeOf(raw, path)
  const isEmpty = Array.isArray(output) && output.length === 0
  return { type: 'function_call_output', callId, output: isEmpty ? '' : contentOf(raw, 'output', path) }
}

function nativeOf(raw: RawObject, path: string): InputItem {
  const value = nativeCopy(raw, path)
  return { type: 'native', value, chat: chatForm(value, path) }
}

function reasoningOf(raw: RawObject, path: string): InputItem {
  const encrypted = stringField(raw, 'encrypted_content', `${path}.encrypted_content`) ?? null
  const details = encrypted === null ? null : decodeDetails(encrypted)
  return {
    type: 'reasoning',
    summary: textsOf(raw, 'summary', path),
    content: textsOf(raw, 'content', path),
    encryptedContent: details === null ? encrypted : null,
    details: details ?? [],
  }
}

function roleOf(raw: RawObject, path: string): MessageRole {
  const given = field(raw, 'role')
  if (given === undefined) throw invalidInput(`${path}.role`, 'is required')
  const role = ROLES.find((allowed) => allowed === given)
  if (role !== undefined) return role
  throw invalidInput(`${path}.role`, `'${quoted(given)}' is not allowed. Allowed: ${ROLES.join(', ')}`)
}

function contentOf(raw: RawObject, name: string, path: string): Extract<InputItem, { type: 'message' }>['content'] {
  const content = field(raw, name)
  if (typeof content === 'string') return content
  if (content === undefined) throw invalidInput(`${path}.${name}`, 'is required')
  if (!Array.isArray(content) || content.length === 0)
    throw invalidInput(`${path}.${name}`, 'must be a string or a non-empty array of content parts')
  return inputParts(content, `${path}.${name}`)
}

function named(raw: RawObject, name: string, path: string): string {
  const value = field(raw, name)
  if (typeof value === 'string' && value !== '') return value
  throw invalidInput(`${path}.${name}`, 'must be a non-empty string')
}

/** The texts of a reasoning item's parts of both kinds. */
function textsOf(raw: RawObject, name: string, path: string): readonly string[] {
  const parts = field(raw, name)
  if (parts === undefined) return []
  if (!Array.isArray(parts)) throw invalidInput(`${path}.${name}`, 'must be an array')
  return parts.flatMap((part: unknown, index) => {
    const text = isObject(part) ? field(part, 'text') : undefined
    if (typeof text === 'string') return [text]
    if (isObject(part) && !THOUGHTS.has(field(part, 'type'))) return []
    throw invalidInput(`${path}.${name}[${index}].text`, 'must be a string')
  })
}

/** A tool item that chat does not have, as a function call or its output; null = nothing that a chat model can use. */
function chatForm(item: RawObject, path: string): ChatForm | null {
  const callId = field(item, 'call_id') ?? field(item, 'id')
  // A search that the provider made has no id, since nobody answers it.
  if (typeof callId !== 'string' || callId === '') return null
  switch (item['type']) {
    case 'custom_tool_call':
      return customCall(item, callId)
    case 'tool_search_call':
      return {
        step: 'call',
        callId,
        tool: { type: 'tool_search', name: 'tool_search', namespace: null },
        arguments: argumentsOf(item['arguments']),
      }
    case 'local_shell_call':
      return {
        step: 'call',
        callId,
        tool: { type: 'local_shell', name: 'local_shell', namespace: null },
        arguments: argumentsOf(withoutType(item['action'])),
      }
    case 'function_call_output':
    case 'custom_tool_call_output':
    case 'local_shell_call_output':
      return { step: 'output', callId, ...outputOf(item['output'], `${path}.output`) }
    case 'tool_search_output':
      return { step: 'output', callId, output: foundText(item['tools']) }
    default:
      return null
  }
}

function customCall(item: RawObject, callId: string): ChatForm | null {
  const { name, namespace, input } = item
  if (typeof name !== 'string' || name === '') return null
  return {
    step: 'call',
    callId,
    tool: { type: 'custom', name, namespace: typeof namespace === 'string' ? namespace : null },
    arguments: JSON.stringify({ input: typeof input === 'string' ? input : '' }),
  }
}

function argumentsOf(given: unknown): string {
  return typeof given === 'string' ? given : JSON.stringify(isObject(given) ? given : {})
}

function withoutType(action: unknown): unknown {
  if (!isObject(action)) return action
  return Object.fromEntries(Object.entries(action).filter(([name, value]) => name !== 'type' && value !== null))
}

function outputOf(output: unknown, path: string): Pick<Extract<ChatForm, { step: 'output' }>, 'output' | 'isPartial'> {
  if (typeof output === 'string') return { output }
  if (!Array.isArray(output)) return { output: output === undefined ? '' : JSON.stringify(output) }
  const known = inputParts(
    output.filter((part: unknown) => !isNewPart(part)),
    path,
  )
  return { output: known.length === 0 ? '' : known, ...(known.length < output.length ? { isPartial: true } : {}) }
}

/** The found tools are offered as functions; this text tells the model so. */
function foundText(tools: unknown): string {
  const found = Array.isArray(tools) ? tools.filter(isObject) : []
  const lines = found.flatMap(({ name, description }) =>
    typeof name === 'string' ? [typeof description === 'string' ? `${name}: ${description}` : name] : [],
  )
  return lines.length === 0 ? 'No tools were found.' : `These tools can be called now:\n${lines.join('\n')}`
}

type Assistant = { -readonly [K in keyof ChatMessage]: ChatMessage[K] }

/**
 * The conversation of the items, as messages (wire.md D-2.4). Calls of the client's tools become calls of functions
 * with the names of `names`. Items of a provider's own tools are left out, because a chat provider has no form for
 * them. Images stay, because chat models also make them.
 */
export function inputMessages(
  instructions: string | null,
  items: readonly InputItem[],
  names: ToolNames,
): readonly ChatMessage[] {
  const conversation = new Conversation(instructions)
  for (const item of items) {
    switch (item.type) {
      case 'message':
        conversation.say(item.role, item.content)
        break
      case 'function_call':
        conversation.call(
          item.callId,
          names.name({ type: 'function', name: item.name, namespace: item.namespace }),
          item.arguments,
        )
        break
      case 'function_call_output':
        conversation.answer(item.callId, item.output)
        break
      case 'reasoning':
        conversation.think(item)
        break
      case 'native': {
        const { value, chat } = item
        const image = generatedImage(value)
        if (image !== null) conversation.say('assistant', [image])
        if (chat?.step === 'call') conversation.call(chat.callId, names.name(chat.tool), chat.arguments)
        if (chat?.step === 'output') conversation.answer(chat.callId, chat.output)
      }
    }
  }
  return conversation.messages
}

class Conversation {
  readonly messages: ChatMessage[] = []
  #reasoning: string[] = []
  #details: unknown[] = []
  /** The assistant's message to which the next call belongs. */
  #open: Assistant | null = null

  constructor(instructions: string | null) {
    if (instructions !== null && instructions !== '') this.messages.push({ role: 'system', content: instructions })
  }

  say(role: MessageRole, content: NonNullable<ChatMessage['content']>): void {
    this.#open = role === 'assistant' ? this.#assistant(content) : null
    if (role !== 'assistant') this.messages.push({ role, content })
  }

  call(id: string, name: string, text: string): void {
    // The reasoning since that message belongs to a separate one.
    const isLate = this.#reasoning.length > 0 || this.#details.length > 0
    const open = this.#open === null || isLate ? this.#assistant(null) : this.#open
    open.tool_calls = [...(open.tool_calls ?? []), { id, type: 'function', function: { name, arguments: text } }]
    this.#open = open
  }

  answer(id: string, content: string | readonly ChatPart[]): void {
    this.#open = null
    this.messages.push({ role: 'tool', tool_call_id: id, content })
  }

  think({ summary, content, details }: Extract<InputItem, { type: 'reasoning' }>): void {
    const texts = (content.length > 0 ? content : summary).filter((text) => text !== '')
    // The signatures came after their text.
    if (texts.length === 0 && this.#open !== null && details.length > 0)
      this.#open.reasoning_details = [...(this.#open.reasoning_details ?? []), ...details]
    else this.#details.push(...details)
    this.#reasoning.push(...texts)
  }

  #assistant(content: ChatMessage['content']): Assistant {
    const message: Assistant = {
      role: 'assistant',
      content,
      ...(this.#reasoning.length === 0 ? {} : { reasoning: this.#reasoning.join('\n') }),
      ...(this.#details.length === 0 ? {} : { reasoning_details: this.#details }),
    }
    this.#reasoning = []
    this.#details = []
    this.messages.push(message)
    return message
  }
}

/** An image that the model made, in the form in which chat clients send it back. */
function generatedImage(item: RawObject): ChatPart | null {
  const { type, result } = item
  if (type !== 'image_generation_call' || typeof result !== 'string') return null
  return mediaPart({ url: `data:image/png;base64,${result}`, as: 'image' }, 'image_generation_call.result')
}

import { ApiError } from '../../../base/errors.ts'
import type { ChatMessage, ChatPart, ChatToolCall } from '../../../kinds/chat/request.ts'
import { copyObject, isObject, quoted, type RawObject } from '../../../kinds/fields/json-fields.ts'
import { filePart, inlinePart } from '../../../kinds/gemini/media-parts.ts'
import { badContent, flagMember, listMember, member, objectMember, textMember } from './members.ts'
import { detailsOf } from '../../../kinds/gemini/signed-parts.ts'

const NO_CONTENTS = "Parameter 'contents' is required"

/** A turn of the model. */
interface ModelTurn {
  readonly content: ChatPart[]
  reasoning: string
  readonly details: unknown[]
  readonly calls: ChatToolCall[]
}

/** `systemInstruction` and `contents` as messages; names of parts that no message can hold are added to `dropped`. */
export function messagesOf(body: RawObject, dropped: Set<string>): readonly ChatMessage[] {
  const reader = new ContentsReader(dropped)
  const system = member(body, 'systemInstruction')
  if (system !== undefined) reader.system(system)
  const given = member(body, 'contents')
  const contents: readonly unknown[] = Array.isArray(given) ? given : given === undefined ? [] : [given]
  for (const [index, content] of contents.entries()) reader.turn(content, `contents[${index}]`)
  reader.end()
  if (contents.length === 0) throw new ApiError('missing_messages', NO_CONTENTS)
  if (!reader.messages.some(({ role }) => role !== 'system')) reader.messages.push({ role: 'user', content: '' })
  return reader.messages
}

class ContentsReader {
  readonly messages: ChatMessage[] = []
  readonly #dropped: Set<string>
  /** Calls by function name, oldest first: results from older clients give only the name. */
  readonly #named = new Map<string, { readonly ids: string[]; next: number }>()
  readonly #answered = new Set<string>()
  #calls = 0
  /** The model's turn being read: clients keep a streamed turn as one content for each chunk. */
  #turn: ModelTurn | null = null

  constructor(dropped: Set<string>) {
    this.#dropped = dropped
  }

  system(raw: unknown): void {
    const parts = partsOf(raw, 'systemInstruction')
    const content = parts.flatMap((part, index): readonly ChatPart[] => {
      const text = textMember(part, 'text', `systemInstruction.parts[${index}].text`)
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
    if (called !== undefined) {
      const call = this.#call(called, `${path}.functionCall`)
      callId = call.id
      turn.calls.push(call)
    } else if (flagMember(part, 'thought', `${path}.thought`) === true)
      turn.reasoning += textMember(part, 'text', `${path}.text`) ?? ''
    else turn.content.push(...this.#said(part, path))
    if (signature !== '') turn.details.push(...detailsOf(signature, callId, turn.details.length))
  }

  #call(raw: RawObject, path: string): ChatToolCall {
    const name = textMember(raw, 'name', `${path}.name`) ?? ''
    if (name === '') throw badContent(path, 'name is required')
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
    if (id === null) throw badContent(path, `no functionCall '${quoted(name)}' before it waits for a result`)
    this.#answered.add(id)
    const response = objectMember(raw, 'response', `${path}.response`) ?? {}
    const text = resultText(response, `${path}.response`)
    const media = listMember(raw, 'parts', `${path}.parts`).flatMap((part, index) =>
      this.#said(partOf(part, `${path}.parts[${index}]`), `${path}.parts[${index}]`),
    )
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
    const text = textMember(part, 'text', `${path}.text`)
    if (text !== undefined) return text === '' ? [] : [{ type: 'text', text }]
    const inline = objectMember(part, 'inlineData', `${path}.inlineData`)
    if (inline !== undefined) return [inlinePart(inline, `${path}.inlineData`)]
    const file = objectMember(part, 'fileData', `${path}.fileData`)
    if (file !== undefined) return [filePart(file, `${path}.fileData`)]
    const code = objectMember(part, 'executableCode', path)
    if (code !== undefined) return [fenced(textMember(code, 'code', path) ?? '')]
    const output = objectMember(part, 'codeExecutionResult', path)
    if (output !== undefined) return [fenced(textMember(output, 'output', path) ?? '')]
    for (const name of Object.keys(part)) this.#dropped.add(`contents.parts.${name}`)
    return []
  }
}

function partsOf(raw: unknown, path: string): readonly RawObject[] {
  if (!isObject(raw)) throw badContent(path, 'must be an object with parts')
  const parts = member(raw, 'parts')
  if (isObject(parts)) return [parts]
  if (parts !== undefined && !Array.isArray(parts)) throw badContent(path, 'parts must be an array')
  return (parts ?? []).map((part: unknown, index: number) => partOf(part, `${path}.parts[${index}]`))
}

function partOf(raw: unknown, path: string): RawObject {
  if (!isObject(raw)) throw badContent(path, 'must be an object')
  return raw
}

/** A single text needs no list. */
function shortest(content: readonly ChatPart[]): string | readonly ChatPart[] {
  const [only] = content
  if (only === undefined) return ''
  return content.length === 1 && only?.type === 'text' ? only.text : content
}

/** Content in pieces, as a stream brought them. */
function assistantContent(content: readonly ChatPart[]): string | readonly ChatPart[] {
  return content.every((part) => part.type === 'text') ? content.map(({ text }) => text).join('') : content
}

/** A result's only text, as client functions return it, or the JSON of the whole result. */
function resultText(response: RawObject, path: string): string {
  const keys = Object.keys(response)
  const { output, error } = response
  const only = output ?? error
  return keys.length === 1 && typeof only === 'string' ? only : JSON.stringify(copyObject(response, path))
}

function fenced(text: string): ChatPart {
  return { type: 'text', text: `\n\`\`\`\n${text.trimEnd()}\n\`\`\`\n` }
}

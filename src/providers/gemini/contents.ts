import type { ChatMessage } from '../../kinds/chat/request.ts'
import { GEMINI_REASONING } from '../../protocols/gemini/gemini-reasoning.ts'
import { UnsendableError } from '../../protocols/ports/upstream-request.ts'
import { toolInput } from '../../protocols/answers/tool-input.ts'
import { objectOf, textOf } from '../../protocols/wire/raw-json.ts'
import { partsOf, textParts, type GeminiPart } from './media.ts'

/** Google's value for a call that another provider made, or whose signature the client has lost. */
const NO_SIGNATURE = 'skip_thought_signature_validator'
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/

interface GeminiTurn {
  readonly role: 'user' | 'model'
  readonly parts: GeminiPart[]
}

export interface GeminiConversation {
  readonly system: readonly GeminiPart[]
  readonly contents: readonly GeminiTurn[]
}

/**
 * The messages as turns that alternate between two roles. System messages are kept apart, in their order: the protocol
 * has no system turn.
 */
export function conversationOf(messages: readonly ChatMessage[], needsSignatures: boolean): GeminiConversation {
  const system: GeminiPart[] = []
  const contents: GeminiTurn[] = []
  const toolNames = new Map<string, string>()
  for (const [index, message] of messages.entries()) {
    const path = `messages[${index}]`
    switch (message.role) {
      case 'system':
      case 'developer':
        system.push(...systemParts(message, path))
        break
      case 'user':
        addTurn(contents, 'user', partsOf(message.content, path))
        break
      case 'tool':
        addTurn(contents, 'user', toolResult(message, toolNames, path))
        break
      case 'assistant':
        for (const { id, function: called } of message.tool_calls ?? []) toolNames.set(id, called.name)
        addTurn(contents, 'model', assistantParts(message, needsSignatures, path))
    }
  }
  // A prompt with only system messages becomes the user's question.
  if (contents.length === 0) addTurn(contents, 'user', system.splice(0))
  if (contents.length === 0) throw new UnsendableError('messages: at least one must have content')
  return { system, contents: contents.map(ordered) }
}

function addTurn(contents: GeminiTurn[], role: GeminiTurn['role'], parts: readonly GeminiPart[]): void {
  if (parts.length === 0) return
  const last = contents.at(-1)
  if (last?.role === role) last.parts.push(...parts)
  else contents.push({ role, parts: [...parts] })
}

function systemParts({ content }: ChatMessage, path: string): readonly GeminiPart[] {
  const parts = partsOf(content, path)
  if (parts.some((part) => part['text'] === undefined))
    throw new UnsendableError(`${path}.content: a system message can only hold text at this provider`)
  return parts
}

/** Reasoning is not sent back: the provider needs only its signatures. */
function assistantParts(message: ChatMessage, needsSignatures: boolean, path: string): readonly GeminiPart[] {
  const { content, refusal = '', reasoning_details: details = [], tool_calls: calls = [] } = message
  const { ofCalls, ofText } = signaturesOf(details)
  const said = partsOf(content, path)
  const parts = said.length === 0 ? textParts(refusal) : said
  const last = parts.at(-1)
  if (last !== undefined && last['text'] !== undefined && ofText !== null)
    parts.splice(-1, 1, { ...last, thoughtSignature: ofText })
  const isUnsigned = needsSignatures && !calls.some(({ id }) => ofCalls.has(id))
  const callParts = calls.map(({ id, function: called }, index) => {
    // Only the first of parallel calls has a signature.
    const signature = ofCalls.get(id) ?? (isUnsigned && index === 0 ? NO_SIGNATURE : null)
    return {
      functionCall: {
        id,
        name: called.name,
        args: toolInput(called.arguments, `${path}.tool_calls[${index}].function.arguments`),
      },
      ...(signature === null ? {} : { thoughtSignature: signature }),
    }
  })
  return [...parts, ...callParts]
}

/**
 * Media of a result follow all results of the turn as parts that every model understands, each after the name of its
 * call.
 */
function toolResult(message: ChatMessage, toolNames: ReadonlyMap<string, string>, path: string): readonly GeminiPart[] {
  const { tool_call_id: id = '', content, is_error: failed } = message
  const name = toolNames.get(id) ?? message.name
  if (name === undefined)
    throw new UnsendableError(
      `${path}.tool_call_id: no tool call before it has this id, and this provider needs the name of the tool`,
    )
  const parts = partsOf(content, path)
  const output = parts.flatMap(({ text }) => (typeof text === 'string' ? [text] : [])).join('\n')
  const response = failed === true ? { error: output } : { output }
  const media = parts.filter(({ text }) => text === undefined)
  const head = media.length === 0 ? [] : [{ text: `Result of the call ${id}:` }]
  return [{ functionResponse: { id, name, response } }, ...head, ...media]
}

/** A turn begins with tool results, right after the calls that they answer. */
function ordered({ role, parts }: GeminiTurn): GeminiTurn {
  const results = parts.filter((part) => part['functionResponse'] !== undefined)
  return {
    role,
    parts:
      results.length === 0 ? parts : [...results, ...parts.filter((part) => part['functionResponse'] === undefined)],
  }
}

/** The thought signatures of one message, as the client sent them back. */
interface Signatures {
  /** Signatures by the id of the tool call. */
  readonly ofCalls: ReadonlyMap<string, string>
  /** The signature of the text; null = none. */
  readonly ofText: string | null
}

/** The signatures in reasoning details; another provider's would be refused. */
function signaturesOf(details: readonly unknown[]): Signatures {
  const ofCalls = new Map<string, string>()
  let ofText: string | null = null
  for (const raw of details) {
    const detail = objectOf(raw)
    const data = textOf(detail?.['data'])
    if (
      detail?.['type'] !== 'reasoning.encrypted' ||
      detail['format'] !== GEMINI_REASONING ||
      data === null ||
      !BASE64.test(data)
    )
      continue
    const id = textOf(detail['id'])
    if (id === null) ofText = data
    else ofCalls.set(id, data)
  }
  return { ofCalls, ofText }
}

import { createHash } from 'node:crypto'
import type { ChatMessage } from '../../kinds/chat/request.ts'
import { UnsendableError } from '../../protocols/ports/upstream-request.ts'
import { objectOf, textOf } from '../../protocols/wire/raw-json.ts'
import { toolInput } from '../../protocols/answers/tool-input.ts'
import type { BedrockModel } from './bedrock-model.ts'
import { signedThoughts } from '../anthropic/signed-thinking.ts'
import {
  blocksOf,
  contentPieces,
  type BedrockBlock,
  type ContentContext,
  type Piece,
} from '../../protocols/bedrock/content.ts'

const TOOL_ID_CHARS_MAX = 64

interface BedrockTurn {
  readonly role: 'user' | 'assistant'
  pieces: Piece[]
}

export interface BedrockConversation {
  readonly system: readonly BedrockBlock[]
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly content: readonly BedrockBlock[] }[]
  /** The last message begins the answer. */
  readonly isPrefilled: boolean
  /** The latest tool calls were made without thinking, so their results cannot be answered with a thinking budget. */
  readonly continuesWithoutThinking: boolean
  /** There are tool calls or results, which the protocol accepts only with tool definitions. */
  readonly holdsToolBlocks: boolean
  /** Names of the tools called so far. */
  readonly calledTools: ReadonlySet<string>
}

/**
 * The messages as alternating turns. System messages are kept apart, in their order: the protocol has no system turn.
 */
export function conversationOf(messages: readonly ChatMessage[], model: BedrockModel): BedrockConversation {
  const context: ContentContext = { model, documentNames: new Set() }
  const system: Piece[] = []
  const turns: BedrockTurn[] = []
  const calledTools = new Set<string>()
  for (const [index, message] of messages.entries()) {
    const path = `messages[${index}]`
    switch (message.role) {
      case 'system':
      case 'developer':
        system.push(...systemPieces(message.content, path, context))
        break
      case 'user':
        addTurn(turns, 'user', contentPieces(message.content, path, context))
        break
      case 'tool':
        addTurn(turns, 'user', [toolResult(message, path, context)])
        break
      case 'assistant':
        for (const call of message.tool_calls ?? []) calledTools.add(call.function.name)
        addTurn(turns, 'assistant', assistantPieces(message, path, context))
    }
  }
  // A prompt with only system messages becomes the user's question.
  if (turns.length === 0) addTurn(turns, 'user', system.splice(0))
  if (turns.length === 0) throw new UnsendableError('messages: at least one must hold text other than white space')
  return {
    system: blocksOf(system),
    isPrefilled: trimPrefill(turns),
    continuesWithoutThinking: continuesWithoutThinking(turns),
    holdsToolBlocks: turns.some(({ pieces }) =>
      pieces.some(({ block }) => 'toolUse' in block || 'toolResult' in block),
    ),
    messages: turns.map(({ role, pieces }) => ({ role, content: blocksOf(ordered(withWords(pieces))) })),
    calledTools,
  }
}

function systemPieces(content: ChatMessage['content'], path: string, context: ContentContext): Piece[] {
  const pieces = contentPieces(content, path, context)
  if (pieces.some(({ block }) => !('text' in block)))
    throw new UnsendableError(`${path}.content: a system message can only hold text at this provider`)
  return pieces
}

function addTurn(turns: BedrockTurn[], role: BedrockTurn['role'], pieces: readonly Piece[]): void {
  if (pieces.length === 0) return
  const last = turns.at(-1)
  if (last?.role === role) last.pieces.push(...pieces)
  else turns.push({ role, pieces: [...pieces] })
}

/** Thinking comes first and unchanged: the provider checks its signature and its place. */
function assistantPieces(message: ChatMessage, path: string, context: ContentContext): Piece[] {
  const { content, refusal = '', reasoning_details: details = [], tool_calls: calls = [] } = message
  const said = contentPieces(content, path, context)
  const thinking = context.model.claude === null ? [] : thinkingBlocks(details)
  const used = calls.map(({ id, function: called }, index) => ({
    toolUse: {
      toolUseId: toolUseId(id),
      name: called.name,
      input: toolInput(called.arguments, `${path}.tool_calls[${index}].function.arguments`),
    },
  }))
  return [...plain(thinking), ...(said.length === 0 ? contentPieces(refusal, path, context) : said), ...plain(used)]
}

function plain(blocks: readonly BedrockBlock[]): Piece[] {
  return blocks.map((block) => ({ block, cachePoint: null }))
}

function thinkingBlocks(details: readonly unknown[]): BedrockBlock[] {
  return signedThoughts(details).map((thought) =>
    'encrypted' in thought
      ? { reasoningContent: { redactedContent: thought.encrypted } }
      : { reasoningContent: { reasoningText: thought } },
  )
}

/** A cache mark on any part of a result marks the whole result. */
function toolResult(
  { tool_call_id: id = '', content, is_error: failed }: ChatMessage,
  path: string,
  context: ContentContext,
): Piece {
  const pieces = contentPieces(content, path, context)
  const cachePoint = pieces.findLast((piece) => piece.cachePoint !== null)?.cachePoint ?? null
  const blocks = pieces.map(({ block }) => block)
  return {
    block: {
      toolResult: {
        toolUseId: toolUseId(id),
        content: blocks.length === 0 ? [{ text: '(no output)' }] : blocks,
        ...(failed === true ? { status: 'error' } : {}),
      },
    },
    cachePoint,
  }
}

/** Other providers' ids may be too long or contain characters that the protocol refuses. */
function toolUseId(id: string): string {
  return id.length > TOOL_ID_CHARS_MAX
    ? `call_${createHash('sha256').update(id).digest('hex').slice(0, 40)}`
    : id.replaceAll(/[^a-zA-Z0-9_-]/g, '_')
}

/** The protocol refuses a document without text beside it. */
function withWords(pieces: readonly Piece[]): readonly Piece[] {
  const document = pieces.map(({ block }) => objectOf(block['document'])).find((found) => found !== null) ?? null
  if (document === null || pieces.some(({ block }) => 'text' in block)) return pieces
  return [...pieces, ...plain([{ text: textOf(document['name']) ?? '' }])]
}

/** A turn begins with tool results, right after the calls that they answer. */
function ordered(pieces: readonly Piece[]): readonly Piece[] {
  const results = pieces.filter(({ block }) => 'toolResult' in block)
  return results.length === 0 ? pieces : [...results, ...pieces.filter(({ block }) => !('toolResult' in block))]
}

/** The models refuse white space at the end of a prefilled answer. */
function trimPrefill(turns: readonly BedrockTurn[]): boolean {
  const last = turns.at(-1)
  const piece = last?.pieces.at(-1)
  if (last === undefined || last.role !== 'assistant' || piece === undefined) return false
  const text = textOf(piece.block['text'])
  if (text !== null) last.pieces = [...last.pieces.slice(0, -1), { ...piece, block: { text: text.trimEnd() } }]
  return true
}

/** Walks back over the calls and results since the user's last message, to the first of those calls. */
function continuesWithoutThinking(turns: readonly BedrockTurn[]): boolean {
  let first: BedrockTurn | null = null
  for (let index = turns.length - 1; index > 0; index -= 2) {
    const results = turns[index]
    if (results === undefined || results.role !== 'user' || !results.pieces.some(({ block }) => 'toolResult' in block))
      break
    first = turns[index - 1] ?? null
  }
  return first !== null && !('reasoningContent' in (first.pieces[0]?.block ?? {}))
}

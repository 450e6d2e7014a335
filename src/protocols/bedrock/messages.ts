import { createHash } from 'node:crypto'
import type { ChatMessage } from '../../kinds/chat/request.ts'
import { objectOf, textOf } from '../wire/raw-json.ts'
import { claudeTurns, resultsFirst, type ClaudeForm, type ClaudeTurns } from '../models/turns.ts'
import { toolInput } from '../answers/tool-input.ts'
import type { BedrockModel } from './bedrock-model.ts'
import { signedThoughts } from '../models/claude-thinking.ts'
import { blocksOf, contentPieces, type BedrockBlock, type ContentContext, type Piece } from './content.ts'

const TOOL_ID_CHARS_MAX = 64

export interface BedrockConversation extends Omit<ClaudeTurns<Piece>, 'system' | 'turns'> {
  readonly system: readonly BedrockBlock[]
  readonly messages: readonly { readonly role: string; readonly content: readonly BedrockBlock[] }[]
  /** There are tool calls or results, which the protocol accepts only with tool definitions. */
  readonly holdsToolBlocks: boolean
}

export function conversationOf(messages: readonly ChatMessage[], model: BedrockModel): BedrockConversation {
  const context: ContentContext = { model, documentNames: new Set() }
  const form: ClaudeForm<Piece> = {
    content: (content, path) => contentPieces(content, path, context),
    assistant: (message, path) => assistantPieces(message, path, context),
    result: (message, path) => [toolResult(message, path, context)],
    text: (text) => ({ block: { text }, cachePoint: null }),
    trimmed: (piece) => {
      const text = textOf(piece.block['text'])
      return text === null ? piece : { ...piece, block: { text: text.trimEnd() } }
    },
    isText: ({ block }) => 'text' in block,
    isResult: ({ block }) => 'toolResult' in block,
    isThought: ({ block }) => 'reasoningContent' in block,
    missing: 'hold text other than white space',
  }
  const { system, turns, ...conversation } = claudeTurns(messages, form, model.claude?.takesPrefill ?? true)
  return {
    ...conversation,
    system: blocksOf(system),
    holdsToolBlocks: turns.some(({ parts }) => parts.some(({ block }) => 'toolUse' in block || 'toolResult' in block)),
    messages: turns.map(({ role, parts }) => ({ role, content: blocksOf(resultsFirst(withWords(parts), form)) })),
  }
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
  return signedThoughts(details, null).map((thought) =>
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

import type { ChatMessage, ChatPart } from '../../kinds/chat/request.ts'
import { CONTINUE, type Turn, type TurnForm, addTurn, resultsFirst, turnsOf } from './turns.ts'
import { UnsendableError } from '../ports/call.ts'
import { toolInput } from '../answers/tool-calls.ts'
import { objectOf, textOf } from '../wire/raw-json.ts'

export type Block = Readonly<Record<string, unknown>>

/** The lifetime that a cache mark names; null = the usual one, undefined = there is no mark. */
type Ttl = '5m' | '1h' | null | undefined

/** A block of content and the cache mark on it. */
export interface Piece {
  readonly kind: 'text' | 'media' | 'thought' | 'call' | 'result'
  readonly block: Block
  readonly ttl: Ttl
}

/** How one of the two protocols of Claude writes its blocks. A text is a block whose `text` is that text. */
export interface BlockForm {
  text(text: string): Block
  media(part: Exclude<ChatPart, { readonly type: 'text' | 'refusal' }>, path: string): Block
  thoughts(details: readonly unknown[]): readonly Block[]
  call(id: string, name: string, input: unknown): Block
  result(id: string, content: readonly Block[], isFailed: boolean): Block
}

export interface ClaudeTurns {
  readonly system: readonly Piece[]
  readonly turns: readonly Turn<Piece>[]
  /** Whether the last message is the beginning of the answer. */
  readonly isPrefilled: boolean
  /**
   * Whether the latest tool calls were made without thinking, so that their results cannot be answered with a thinking
   * budget.
   */
  readonly continuesWithoutThinking: boolean
  /** Names of the tools called so far. */
  readonly calledTools: ReadonlySet<string>
}

export function claudeTurns(messages: readonly ChatMessage[], form: BlockForm, takesPrefill: boolean): ClaudeTurns {
  const pieces = piecesIn(form)
  const { system, turns } = turnsOf(messages, pieces)
  const last = turns.at(-1)
  const piece = last?.role === 'assistant' ? last.parts.at(-1) : undefined
  // The models refuse white space at the end of a prefilled answer.
  if (piece?.kind === 'text') last?.parts.splice(-1, 1, trimmed(piece))
  if (!takesPrefill && piece?.kind === 'text') addTurn(turns, 'user', [unmarked('text', form.text(CONTINUE))])
  return {
    system,
    turns: turns.map(({ role, parts }) => ({ role, parts: resultsFirst(parts, pieces) })),
    isPrefilled: piece !== undefined && takesPrefill,
    continuesWithoutThinking: continuesWithoutThinking(turns),
    calledTools: new Set(
      messages.flatMap(({ role, tool_calls: calls = [] }) =>
        role === 'assistant' ? calls.map((call) => call.function.name) : [],
      ),
    ),
  }
}

export function unmarked(kind: Piece['kind'], block: Block): Piece {
  return { kind, block, ttl: undefined }
}

function trimmed(piece: Piece): Piece {
  return { ...piece, block: { ...piece.block, text: textOf(piece.block['text'])?.trimEnd() } }
}

function piecesIn(form: BlockForm): TurnForm<Piece> {
  /** Text that is only white space is left out: the protocols refuse it. */
  const textPieces = (text: string, mark: unknown, path: string): Piece[] =>
    text.trim() === '' ? [] : [{ kind: 'text', block: form.text(text), ttl: markedTtl(mark, path) }]
  const partPieces = (part: ChatPart, path: string): Piece[] => {
    if (part.type === 'text') return textPieces(part.text, part.cache_control, path)
    if (part.type === 'refusal') return textPieces(part.refusal, undefined, path)
    const mark = part.type === 'image_url' ? part.cache_control : undefined
    return [{ kind: 'media', block: form.media(part, path), ttl: markedTtl(mark, path) }]
  }
  const content = (said: ChatMessage['content'], path: string): Piece[] => {
    if (said === null) return []
    if (typeof said === 'string') return textPieces(said, undefined, path)
    return said.flatMap((part, index) => partPieces(part, `${path}.content[${index}]`))
  }
  return {
    content,
    /** Thinking comes first and unchanged: the provider checks its signature and its position. */
    assistant: (message, path) => {
      const { refusal = '', reasoning_details: details = [], tool_calls: calls = [] } = message
      const said = content(message.content, path)
      return [
        ...form.thoughts(details).map((block) => unmarked('thought', block)),
        ...(said.length === 0 ? content(refusal, path) : said),
        ...calls.map(({ id, function: called }, index) => {
          const input = toolInput(called.arguments, `${path}.tool_calls[${index}].function.arguments`)
          return unmarked('call', form.call(id, called.name, input))
        }),
      ]
    },
    /** A cache mark on any part of a result marks the whole result. */
    result: ({ tool_call_id: id = '', is_error: isFailed = false, ...message }, path) => {
      const pieces = content(message.content, path)
      const blocks = pieces.map(({ block }) => block)
      const ttl = pieces.findLast((piece) => piece.ttl !== undefined)?.ttl
      return [{ kind: 'result', block: form.result(id, blocks, isFailed), ttl }]
    },
    isText: ({ kind }) => kind === 'text',
    isResult: ({ kind }) => kind === 'result',
    missing: 'hold text other than white space',
  }
}

/** Goes back over the calls and results since the user's last message, to the first of those calls. */
function continuesWithoutThinking(turns: readonly Turn<Piece>[]): boolean {
  let first: Turn<Piece> | null = null
  for (let index = turns.length - 1; index > 0; index -= 2) {
    const results = turns[index]
    if (results === undefined || results.role !== 'user' || !results.parts.some(({ kind }) => kind === 'result')) break
    first = turns[index - 1] ?? null
  }
  return first !== null && first.parts[0]?.kind !== 'thought'
}

function markedTtl(raw: unknown, path: string): Ttl {
  if (raw === undefined) return undefined
  const mark = objectOf(raw)
  const ttl = mark?.['ttl'] ?? null
  if (mark?.['type'] !== 'ephemeral' || (ttl !== null && ttl !== '5m' && ttl !== '1h'))
    throw new UnsendableError(`${path}.cache_control: must be {type: 'ephemeral'}, with a ttl of '5m' or '1h' or none`)
  return ttl
}

import type { ChatRequest } from '../../kinds/chat/request.ts'
import { takesOf, type ChatCall, type TakesParameter, UnsendableError } from '../ports/call.ts'
import { answerFormatOf, type AnswerFormat, type AnswerMeans } from './claude-format.ts'
import { hidesReasoning, thinkingOf, type Thinking } from './claude-thinking.ts'
import type { BlockView } from './claude-events.ts'
import { signerOf, type ModelTraits } from './claude-traits.ts'
import type { ClaudeTurns } from './claude-turns.ts'
import { isObject } from '../../kinds/fields/body-fields.ts'

/** Every model can answer at least this much, so a thinking budget within it fits every default. */
export const MAX_TOKENS_LEAST = 4_096
/** The least top_p that is accepted together with thinking. */
const THINKING_TOP_P_MIN = 0.95

/** The form in which the call's answer is asked for; the reader needs it too. */
export function askedFormat({ request, endpoint }: ChatCall, means: AnswerMeans): AnswerFormat {
  const takes = takesOf(endpoint)
  if (!takes('response_format') && !takes('structured_outputs')) return { kind: 'text' }
  return answerFormatOf(takes('tools') ? request : { ...request, tools: null }, means)
}

/** What the client of a call sees of the blocks of its answer. */
export function blockViewOf(call: ChatCall, means: AnswerMeans): BlockView {
  const format = askedFormat(call, means)
  return {
    generationId: call.generationId,
    answerTool: format.kind === 'tool' ? format.name : null,
    hidesReasoning: hidesReasoning(call.request.parameters),
    signer: signerOf(call.endpoint),
  }
}

/** The thinking that a call asks for, as far as the rest of the request allows any. `isForced`: by a call of a tool. */
export function askedThinking(
  { request, endpoint, sendMaxTokens }: ChatCall,
  traits: ModelTraits,
  { isPrefilled, continuesWithoutThinking }: Pick<ClaudeTurns, 'isPrefilled' | 'continuesWithoutThinking'>,
  isForced: boolean,
): Thinking {
  const takes = takesOf(endpoint)
  const parameters = takes('reasoning') || takes('reasoning_effort') ? request.parameters : {}
  const maxTokens = sendMaxTokens ?? endpoint.maxCompletionTokens ?? MAX_TOKENS_LEAST
  const isPossible = !isForced && !isPrefilled && (traits.thinking === 'adaptive' || !continuesWithoutThinking)
  return thinkingOf(parameters, traits, maxTokens, isPossible)
}

export function isOn({ thinking }: Thinking): boolean {
  return thinking !== null && thinking['type'] !== 'disabled'
}

/** null = it is not sent. */
export interface Sampling {
  readonly temperature: number | null
  readonly topP: number | null
  readonly topK: number | null
}

/** `count`: how many of temperature and top_p a request may have; 0 = top_k is not accepted either. */
export function samplingOf(
  parameters: ChatRequest['parameters'],
  takes: TakesParameter,
  count: ModelTraits['samplingParameters'],
  isThinking: boolean,
): Sampling {
  const number = (name: string): number | null => {
    const value = parameters[name]
    return typeof value === 'number' && takes(name) ? value : null
  }
  if (count === 0) return { temperature: null, topP: null, topK: null }
  const temperature = isThinking ? null : number('temperature')
  const topP = number('top_p')
  const topK = isThinking ? null : number('top_k')
  const fitsTopP = topP !== null && (!isThinking || topP >= THINKING_TOP_P_MIN) && (temperature === null || count === 2)
  return {
    // The protocols' temperature ends at 1.
    temperature: temperature === null ? null : Math.min(temperature, 1),
    topP: fitsTopP ? topP : null,
    topK: topK === null ? null : Math.floor(topK),
  }
}

/** null = none are sent. Claude refuses one of white space alone. */
export function stopSequences(stop: unknown, isClaude: boolean): readonly string[] | null {
  if (stop === undefined) return null
  const sequences = (Array.isArray(stop) ? stop : [stop]).map(String)
  if (isClaude && sequences.some((sequence) => sequence.trim() === ''))
    throw new UnsendableError('stop: this provider takes no stop sequence of white space alone')
  return sequences
}

type Body = Readonly<Record<string, unknown>>

const MARK = { type: 'ephemeral' } as const
/** The provider refuses more marks than four: here one each for tools and system, and two of turns. */
export const TURNS_MARKED = 2
const UNMARKABLE: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking'])

/**
 * A body of Messages with cache marks on its last tool, its last system text and its last two turns of the user, so
 * that the next turn reads what this one writes. A body that has a mark anywhere keeps its client's. One with fewer
 * letters than `cacheMin`, the tokens of the shortest prompt that is kept, has none.
 */
export function withCacheMarks(body: Body, cacheMin: number): Body {
  const { tools, system, messages } = body
  const text = JSON.stringify([tools, system, messages, body['cache_control']])
  if (text.length < cacheMin || text.includes('"cache_control":{')) return body
  return {
    ...body,
    ...(Array.isArray(tools) && tools.length > 0 ? { tools: markedLast(tools) } : {}),
    ...(system === undefined ? {} : { system: markedContent(system) }),
    ...(Array.isArray(messages) ? { messages: markedTurns(messages) } : {}),
  }
}

function markedTurns(messages: readonly unknown[]): readonly unknown[] {
  const marked = [...messages]
  let left = TURNS_MARKED
  for (let index = messages.length - 1; index >= 0 && left > 0; index -= 1) {
    const message = messages[index]
    if (!isObject(message) || message['role'] !== 'user') continue
    marked[index] = { ...message, content: markedContent(message['content']) }
    left -= 1
  }
  return marked
}

/** A text is a list of one block. */
function markedContent(content: unknown): unknown {
  if (typeof content === 'string')
    return content.trim() === '' ? content : [{ type: 'text', text: content, cache_control: MARK }]
  return Array.isArray(content) ? markedLast(content) : content
}

function markedLast(list: readonly unknown[]): readonly unknown[] {
  const at = list.findLastIndex(takesMark)
  return list.map((item, index) => (index === at && isObject(item) ? { ...item, cache_control: MARK } : item))
}

/** Empty texts, thoughts, and tools that are loaded later take none. */
function takesMark(item: unknown): boolean {
  if (!isObject(item) || UNMARKABLE.has(item['type']) || item['defer_loading'] === true) return false
  return item['type'] !== 'text' || item['text'] !== ''
}

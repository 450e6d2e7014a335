import type { ChatRequest } from '../../kinds/chat/request.ts'
import { takesOf, type ChatCall, type TakesParameter, UnsendableError } from '../ports/call.ts'
import { answerFormatOf, type AnswerFormat, type AnswerMeans } from './claude-format.ts'
import { type ModelTraits, type Thinking, hidesReasoning, signerOf, thinkingOf } from './claude-traits.ts'
import type { BlockView } from './claude-events.ts'
import type { ClaudeTurns } from './claude-turns.ts'
import { isObject } from '../../kinds/fields/body-fields.ts'

/** Every model can answer with at least this many tokens, so a thinking budget within it fits every default. */
export const MAX_TOKENS_LEAST = 4_096
/** The least top_p that is accepted together with thinking. */
const THINKING_TOP_P_MIN = 0.95

/** The form in which a call's answer is requested; the reader of the answer needs it too. */
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

/** The thinking that a call asks for, if the rest of the request allows any. `isForced`: a call of a tool is forced. */
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

/** null = the parameter is not sent. */
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
    // The temperature of these protocols ends at 1.
    temperature: temperature === null ? null : Math.min(temperature, 1),
    topP: fitsTopP ? topP : null,
    topK: topK === null ? null : Math.floor(topK),
  }
}

/** null = none are sent. Claude refuses a sequence of only white space. */
export function stopSequences(stop: unknown, isClaude: boolean): readonly string[] | null {
  if (stop === undefined) return null
  const sequences = (Array.isArray(stop) ? stop : [stop]).map(String)
  if (isClaude && sequences.some((sequence) => sequence.trim() === ''))
    throw new UnsendableError('stop: this provider takes no stop sequence of white space alone')
  return sequences
}

type Body = Readonly<Record<string, unknown>>

const MARK = { type: 'ephemeral' } as const
/** The provider refuses more than four marks. One is for the tools, one for the system text, two for turns. */
export const TURNS_MARKED = 2
const UNMARKABLE: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking'])

/**
 * A body of Messages with cache marks on its last tool, its last system text and the last two turns of the user, so
 * that the next turn reads what this one writes. A body that has a mark anywhere stays as the client made it. A body
 * with fewer characters than `cacheMin`, the tokens of the shortest prompt that is cached, gets no marks.
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

/** The content with a mark; a text becomes a list of one block. */
function markedContent(content: unknown): unknown {
  if (typeof content === 'string')
    return content.trim() === '' ? content : [{ type: 'text', text: content, cache_control: MARK }]
  return Array.isArray(content) ? markedLast(content) : content
}

function markedLast(list: readonly unknown[]): readonly unknown[] {
  const at = list.findLastIndex(takesMark)
  return list.map((item, index) => (index === at && isObject(item) ? { ...item, cache_control: MARK } : item))
}

/** Whether an item accepts a mark: empty texts, thoughts, and tools that are loaded later do not. */
function takesMark(item: unknown): boolean {
  if (!isObject(item) || UNMARKABLE.has(item['type']) || item['defer_loading'] === true) return false
  return item['type'] !== 'text' || item['text'] !== ''
}

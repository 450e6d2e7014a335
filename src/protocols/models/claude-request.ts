import type { ChatRequest } from '../../kinds/chat/request.ts'
import { takesOf, type ChatCall, type TakesParameter } from '../ports/call.ts'
import { UnsendableError } from '../ports/upstream-request.ts'
import { answerFormatOf, type AnswerFormat, type AnswerMeans } from './claude-format.ts'
import { thinkingOf, type Thinking } from './claude-thinking.ts'
import type { ModelTraits } from './claude-traits.ts'
import type { ClaudeTurns } from './turns.ts'

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

/** The thinking that a call asks for, as far as the rest of the request allows any. `isForced`: by a call of a tool. */
export function askedThinking(
  { request, endpoint, sendMaxTokens }: ChatCall,
  traits: ModelTraits,
  { isPrefilled, continuesWithoutThinking }: Pick<ClaudeTurns<unknown>, 'isPrefilled' | 'continuesWithoutThinking'>,
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

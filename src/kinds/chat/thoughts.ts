import { isObject } from '../fields/body-fields.ts'
import type { ChatMessage, ChatRequest } from './request.ts'

/** The least budget of thinking that a provider accepts. */
const BUDGET_MIN = 1_024

/**
 * The tokens for thinking out of an answer of `sent` tokens, if the client asked for `budget` out of `asked` and the
 * model gives shorter answers. Their share stays the same, since a budget that leaves no room for the text is refused.
 * null = nothing fits.
 */
export function fittedBudget(budget: number, asked: number | null, sent: number | null): number | null {
  // If the client itself sent a budget that leaves no room, it stays as it is.
  if (asked === null || sent === null || sent >= asked || budget < sent || budget >= asked) return budget
  return sent <= BUDGET_MIN ? null : Math.max(BUDGET_MIN, Math.min(sent - 1, Math.floor((budget / asked) * sent)))
}

/** If the model's longest answer is shorter than the requested one, a budget for thinking is reduced in proportion. */
export function withFittedBudget(request: ChatRequest, sendMaxTokens: number | null): ChatRequest {
  const { reasoning } = request.parameters
  const budget = isObject(reasoning) ? reasoning['max_tokens'] : undefined
  if (!isObject(reasoning) || typeof budget !== 'number') return request
  const fitted = fittedBudget(budget, request.maxTokens, sendMaxTokens)
  if (fitted === budget) return request
  const { max_tokens: _given, ...rest } = reasoning
  const parameters = { ...request.parameters, reasoning: fitted === null ? rest : { ...rest, max_tokens: fitted } }
  return { ...request, parameters }
}

/** A thought that its provider does not sign, as a reasoning detail, for clients that send back no other text of it. */
export function plainDetail(text: string): Readonly<Record<string, unknown>> {
  return { type: 'reasoning.text', text, index: 0 }
}

/** The format of a thought that its provider takes back without a signature, only in its own protocol. */
export const UNSIGNED = 'tollgate-unsigned'

/** The messages with each unsigned thought as a detail, for a provider of Anthropic's protocol that wants them back. */
export function withUnsignedThoughts(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return messages.map((message) => {
    const { role, reasoning_details: details = [] } = message
    const text = role === 'assistant' && !details.some(isSigned) ? thoughtOf(message) : ''
    return text === '' ? message : { ...message, reasoning_details: [{ text, format: UNSIGNED }] }
  })
}

function isSigned(detail: unknown): boolean {
  return isObject(detail) && ((detail['signature'] ?? '') !== '' || detail['type'] === 'reasoning.encrypted')
}

/** The readable thought of a turn; empty if there was none. */
export function thoughtOf({ reasoning = '', reasoning_details: details = [] }: ChatMessage): string {
  if (reasoning !== '') return reasoning
  return details.map(textOf).join('')
}

function textOf(detail: unknown): string {
  if (!isObject(detail)) return ''
  const { type, text, summary } = detail
  const said = type === 'reasoning.summary' ? summary : text
  return typeof said === 'string' ? said : ''
}

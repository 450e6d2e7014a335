import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import { listOf, objectOf, textOf, type RawJson } from '../../wire/raw-json.ts'

export interface CompleteToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

const LISTS = ['annotations', 'images', 'reasoning_details'] as const

/**
 * The content of a message or delta, without its role and tool calls. Empty values count as absent, since some dialects
 * send every field.
 */
export function contentEvents(raw: RawJson, choice: number, logprobs: unknown): readonly AnswerEvent[] {
  const events: AnswerEvent[] = []
  const { content, reasoning: thinking } = splitContent(raw['content'])
  const reasoning = (textOf(raw['reasoning']) || textOf(raw['reasoning_content']) || '') + thinking
  const refusal = textOf(raw['refusal']) ?? ''
  for (const field of LISTS) {
    const value = listOf(raw[field])
    if (value.length > 0) events.push({ type: 'extra', choice, field, value })
  }
  if (reasoning !== '') events.push({ type: 'reasoning', choice, text: reasoning })
  if (content !== '' || logprobs !== null)
    events.push({ type: 'text', choice, text: content, ...(logprobs === null ? {} : { logprobs }) })
  if (refusal !== '') events.push({ type: 'refusal', choice, text: refusal })
  const audio = objectOf(raw['audio'])
  if (audio !== null && Object.values(audio).some((value) => value !== '' && value !== null && value !== 0))
    events.push({ type: 'extra', choice, field: 'audio', value: audio })
  return events
}

/** Splits content, which is a string or, at Mistral, a list of text and thinking parts. */
function splitContent(content: unknown): { readonly content: string; readonly reasoning: string } {
  if (typeof content === 'string') return { content, reasoning: '' }
  let text = ''
  let reasoning = ''
  for (const item of listOf(content)) {
    const part = objectOf(item)
    if (part?.['type'] === 'text') text += textOf(part['text']) ?? ''
    if (part?.['type'] === 'thinking') {
      const { thinking } = part
      reasoning += typeof thinking === 'string' ? thinking : splitContent(thinking).content
    }
  }
  return { content: text, reasoning }
}

/** A complete tool call of a plain answer; null = it has no function. `spareId` replaces a missing id. */
export function readToolCall(raw: unknown, spareId: string): CompleteToolCall | null {
  const call = objectOf(raw)
  const called = objectOf(call?.['function'])
  const name = textOf(called?.['name'])
  if (called === null || name === null || name === '') return null
  return { id: textOf(call?.['id']) || spareId, name, arguments: argumentsText(called['arguments']) }
}

export function argumentsText(value: unknown): string {
  return typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value)
}

/** The legacy `function_call` of a message or delta; null = it is absent or empty. */
export function legacyCall(
  raw: RawJson,
): { readonly name: string; readonly arguments: string; readonly state: string | null } | null {
  const call = objectOf(raw['function_call'])
  if (call === null) return null
  const name = textOf(call['name']) ?? ''
  const text = argumentsText(call['arguments'])
  return name === '' && text === '' ? null : { name, arguments: text, state: textOf(raw['functions_state_id']) }
}

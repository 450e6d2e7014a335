import { AnswerEnd } from './end.ts'
import type { AnswerEvent } from './event.ts'
import type { ChatAnswer } from '../chat/answer.ts'
import { JsonBytes } from '../../base/json-text.ts'

interface ToolCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; arguments: string }
}

interface Choice {
  content: string | null
  reasoning: string
  refusal: string | null
  readonly toolCalls: ToolCall[]
  readonly extras: Record<string, unknown>
  logprobs: unknown
}

/** The complete answer that the events of a stream amount to. */
export function foldAnswer(events: readonly AnswerEvent[]): ChatAnswer {
  const end = new AnswerEnd()
  const choices = new Map<number, Choice>()
  let systemFingerprint: string | null = null
  for (const event of events) {
    end.add(event)
    if (event.type === 'origin') systemFingerprint = event.systemFingerprint ?? systemFingerprint
    else if (event.type === 'spliced')
      addText(choiceAt(choices, 0), event.field === 'content' ? 'text' : 'reasoning', event.text)
    else if (event.type !== 'usage' && event.type !== 'wire') addToChoice(choiceAt(choices, event.choice), event)
  }
  const { finishes, usage, upstreamId, serviceTier, hasContent } = end.result()
  return {
    choices: finishes.map(({ index, finish, native }) => {
      const choice = choiceAt(choices, index)
      return { index, finish, native, message: messageOf(choice), logprobs: choice.logprobs }
    }),
    usage,
    upstreamId,
    serviceTier,
    systemFingerprint,
    hasContent,
  }
}

function choiceAt(choices: Map<number, Choice>, index: number): Choice {
  let choice = choices.get(index)
  if (choice === undefined) {
    choice = { content: null, reasoning: '', refusal: null, toolCalls: [], extras: {}, logprobs: null }
    choices.set(index, choice)
  }
  return choice
}

function addToChoice(
  choice: Choice,
  event: Exclude<AnswerEvent, { type: 'origin' | 'spliced' | 'usage' | 'wire' }>,
): void {
  switch (event.type) {
    case 'text':
    case 'reasoning':
    case 'refusal':
      addText(choice, event.type, event.text)
      choice.logprobs = mergedLogprobs(choice.logprobs, event.logprobs)
      return
    case 'tool_call':
      choice.toolCalls[event.index] = { id: event.id, type: 'function', function: { name: event.name, arguments: '' } }
      return
    case 'tool_arguments': {
      const call = choice.toolCalls[event.index]
      if (call !== undefined) call.function.arguments += event.text
      return
    }
    case 'extra':
      choice.extras[event.field] = mergedExtra(choice.extras[event.field], event.value)
      return
    case 'finish':
    case 'item':
  }
}

function addText(choice: Choice, type: 'text' | 'reasoning' | 'refusal', text: string): void {
  if (type === 'text') choice.content = (choice.content ?? '') + text
  else if (type === 'reasoning') choice.reasoning += text
  else choice.refusal = (choice.refusal ?? '') + text
}

function messageOf({ content, reasoning, refusal, toolCalls, extras }: Choice): Record<string, unknown> {
  return {
    role: 'assistant',
    content,
    refusal,
    ...(reasoning === '' ? {} : { reasoning }),
    ...extras,
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
  }
}

/** `before` belongs only to the fold, so a list in it grows in place: copies would make many pieces slow. */
function mergedExtra(before: unknown, added: unknown): unknown {
  if (Array.isArray(added)) {
    const list: unknown[] = Array.isArray(before) ? before : []
    for (const value of added) list.push(value)
    return list
  }
  if (!isRecord(before) || !isRecord(added)) return added
  const merged: Record<string, unknown> = { ...before }
  for (const [name, value] of Object.entries(added)) {
    const known = merged[name]
    // Pieces of audio data and of its transcript are appended; an id or a time replaces the one before.
    merged[name] = typeof value === 'string' && typeof known === 'string' && name !== 'id' ? known + value : value
  }
  return merged
}

function mergedLogprobs(before: unknown, added: unknown): unknown {
  if (added === undefined || added === null) return before
  if (!isRecord(added) || added instanceof JsonBytes) return added
  const merged: Record<string, unknown> = isRecord(before) ? { ...before } : {}
  for (const [name, value] of Object.entries(added))
    merged[name] = mergedExtra(merged[name], value) ?? merged[name] ?? null
  return merged
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

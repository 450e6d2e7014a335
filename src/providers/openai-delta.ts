import { listOf, objectOf, textOf, type RawJson } from './raw-json.ts'

/** The allow-listed fields of an upstream's message or delta, renamed to ours. */
export interface ReadContent {
  readonly fields: Record<string, unknown>
  /** What counts as output: content, reasoning and refusal. */
  readonly text: string
}

export interface CompleteToolCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

const LISTS = ['annotations', 'images', 'reasoning_details'] as const

/** Reads everything but the role and the tool calls; empty values count as absent, as some dialects send zeros for everything. */
export function readContent(raw: RawJson): ReadContent {
  const fields: Record<string, unknown> = {}
  const parts = splitContent(raw['content'])
  const reasoning = (textOf(raw['reasoning']) || textOf(raw['reasoning_content']) || '') + parts.reasoning
  const refusal = textOf(raw['refusal']) ?? ''
  if (parts.content !== '') fields['content'] = parts.content
  if (reasoning !== '') fields['reasoning'] = reasoning
  if (refusal !== '') fields['refusal'] = refusal
  for (const name of LISTS) {
    const list = listOf(raw[name])
    if (list.length > 0) fields[name] = list
  }
  const audio = objectOf(raw['audio'])
  if (audio !== null && Object.values(audio).some((value) => value !== '' && value !== null && value !== 0)) fields['audio'] = audio
  return { fields, text: reasoning + parts.content + refusal }
}

/** Content may be a text or, at Mistral, a list of text and thinking parts. */
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

/** A complete tool call of a non-streaming answer; null for one without a function. `spareId` stands in for a missing id. */
export function readToolCall(raw: unknown, spareId: string): CompleteToolCall | null {
  const call = objectOf(raw)
  const called = objectOf(call?.['function'])
  const name = textOf(called?.['name'])
  if (called === null || name === null || name === '') return null
  return { id: textOf(call?.['id']) || spareId, type: 'function', function: { name, arguments: argumentsText(called['arguments']) } }
}

export function argumentsText(value: unknown): string {
  return typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value)
}

/** The legacy `function_call` of a message or delta; null where it is absent or all zeros. */
export function legacyCall(raw: RawJson): { readonly name: string; readonly arguments: string } | null {
  const call = objectOf(raw['function_call'])
  if (call === null) return null
  const name = textOf(call['name']) ?? ''
  const text = argumentsText(call['arguments'])
  return name === '' && text === '' ? null : { name, arguments: text }
}

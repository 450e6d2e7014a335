import { at, fieldsOf, listOf, textOf, type Fields } from './documents.ts'

/** One answer of a chat, by its documents. */
export interface Folded {
  text: string
  reasoning: string
  refusal: string
  /** Arguments are text, or the object where the protocol sends one. */
  calls: { id: string | null; name: string; arguments: string | object }[]
  finish: string | null
}

export type Fold = (documents: readonly Fields[]) => ReadonlyMap<number, Folded>

function empty(): Folded {
  return { text: '', reasoning: '', refusal: '', calls: [], finish: null }
}

/** The answers by index, made at their first use. */
class Answers extends Map<number, Folded> {
  of(index: number): Folded {
    const found = this.get(index) ?? empty()
    this.set(index, found)
    return found
  }
}

function said(...values: readonly unknown[]): string {
  return values.map((value) => textOf(value) ?? '').join('')
}

/** Pieces of calls by their place; an empty name or id repeats the one before. */
function addCall(calls: Folded['calls'], place: number, id: unknown, name: unknown, text: unknown): void {
  const known = calls[place] ?? { id: null, name: '', arguments: '' }
  calls[place] = { id: known.id ?? textOf(id), name: known.name || said(name), arguments: said(known.arguments, text) }
}

function openaiChat(documents: readonly Fields[]): ReadonlyMap<number, Folded> {
  const answers = new Answers()
  for (const choice of documents.flatMap((document) => listOf(document['choices']))) {
    const answer = answers.of(Number(choice['index'] ?? 0))
    const message = fieldsOf(choice['delta'] ?? choice['message'])
    const parts = listOf(message['content'])
    answer.text += said(message['content'], ...parts.filter(({ type }) => type === 'text').map(({ text }) => text))
    answer.reasoning += said(
      message['reasoning_content'] ?? message['reasoning'],
      ...parts.flatMap(({ thinking }) => listOf(thinking).map(({ text }) => text)),
    )
    answer.refusal += said(message['refusal'])
    for (const [index, call] of listOf(message['tool_calls']).entries()) {
      const { id, function: called } = call
      const place = Number(call['index'] ?? index)
      const known = answer.calls[place]
      const isRepeated =
        choice['delta'] === undefined &&
        known !== undefined &&
        known.name !== '' &&
        textOf(at(called, 'name')) !== null &&
        said(at(called, 'name')) !== ''
      if (!isRepeated) addCall(answer.calls, place, id, at(called, 'name'), at(called, 'arguments'))
    }
    const legacy = fieldsOf(message['function_call'])
    if (said(legacy['name']) !== '') addCall(answer.calls, 0, null, legacy['name'], legacy['arguments'])
    answer.finish = textOf(choice['finish_reason']) || answer.finish
  }
  return answers
}

function completions(documents: readonly Fields[]): ReadonlyMap<number, Folded> {
  const answers = new Answers()
  for (const document of documents) {
    if (document['value'] !== undefined) answers.of(0).text += said(document['value'])
    for (const choice of listOf(document['choices'])) {
      const answer = answers.of(Number(choice['index'] ?? 0))
      answer.text += said(choice['text'])
      answer.finish = textOf(choice['finish_reason']) || answer.finish
    }
  }
  return answers
}

function responses(documents: readonly Fields[]): ReadonlyMap<number, Folded> {
  const answers = new Answers()
  const whole = documents
    .map((document) => fieldsOf(document['response'] ?? document))
    .findLast(({ object }) => object === 'response')
  if (whole === undefined) return answers
  const answer = answers.of(0)
  for (const item of listOf(whole['output'])) {
    const parts = listOf(item['content'])
    answer.text += said(...parts.filter(({ type }) => type === 'output_text').map(({ text }) => text))
    answer.refusal += said(...parts.map(({ refusal }) => refusal))
    answer.reasoning += said(
      ...listOf(item['summary']).map(({ text }) => text),
      ...parts.filter(({ type }) => type === 'reasoning_text').map(({ text }) => text),
    )
    if (item['type'] === 'function_call')
      answer.calls.push({ id: textOf(item['call_id']), name: said(item['name']), arguments: said(item['arguments']) })
  }
  answer.finish = textOf(whole['status'])
  return answers
}

function anthropic(documents: readonly Fields[]): ReadonlyMap<number, Folded> {
  const answers = new Answers()
  const answer = answers.of(0)
  const places = new Map<unknown, number>()
  const addBlock = (block: Fields): void => {
    answer.text += block['type'] === 'text' ? said(block['text']) : ''
    answer.reasoning += said(block['thinking'])
    if (block['type'] === 'tool_use')
      answer.calls.push({ id: textOf(block['id']), name: said(block['name']), arguments: fieldsOf(block['input']) })
  }
  for (const document of documents) {
    const { type, index, content_block: block, delta } = document
    if (type === 'message') listOf(document['content']).forEach(addBlock)
    if (type === 'content_block_start') {
      if (at(block, 'type') === 'tool_use') places.set(index, answer.calls.length)
      addBlock(fieldsOf(block))
    }
    if (type === 'content_block_delta') {
      answer.text += said(at(delta, 'text'))
      answer.reasoning += said(at(delta, 'thinking'))
      const call = answer.calls[places.get(index) ?? -1]
      if (call !== undefined && textOf(at(delta, 'partial_json')) !== null)
        call.arguments = said(call.arguments, at(delta, 'partial_json'))
    }
    answer.finish = textOf(document['stop_reason']) ?? textOf(at(delta, 'stop_reason')) ?? answer.finish
  }
  return answers
}

function gemini(documents: readonly Fields[]): ReadonlyMap<number, Folded> {
  const answers = new Answers()
  for (const candidate of documents.flatMap((document) => listOf(document['candidates']))) {
    const answer = answers.of(Number(candidate['index'] ?? 0))
    for (const part of listOf(at(candidate, 'content', 'parts'))) {
      if (part['thought'] === true) answer.reasoning += said(part['text'])
      else answer.text += said(part['text'])
      const call = fieldsOf(part['functionCall'])
      const pieces = listOf(call['partialArgs'])
      const last = answer.calls.at(-1)
      if (textOf(call['name']) !== null)
        answer.calls.push({ id: textOf(call['id']), name: said(call['name']), arguments: fieldsOf(call['args']) })
      else
        for (const piece of pieces)
          if (last !== undefined)
            last.arguments = {
              ...fieldsOf(last.arguments),
              [said(piece['jsonPath']).slice(2)]: said(
                at(last.arguments, said(piece['jsonPath']).slice(2)),
                piece['stringValue'],
              ),
            }
    }
    answer.finish = textOf(candidate['finishReason']) ?? answer.finish
  }
  return answers
}

function bedrock(documents: readonly Fields[]): ReadonlyMap<number, Folded> {
  const answers = new Answers()
  const answer = answers.of(0)
  const addPart = (part: Fields): void => {
    answer.text += said(part['text'])
    answer.reasoning += said(
      at(part, 'reasoningContent', 'reasoningText', 'text'),
      at(part, 'reasoningContent', 'text'),
    )
    const use = fieldsOf(part['toolUse'])
    if (textOf(use['toolUseId']) !== null)
      answer.calls.push({
        id: textOf(use['toolUseId']),
        name: said(use['name']),
        arguments: use['input'] === undefined ? '' : fieldsOf(use['input']),
      })
    else if (use['input'] !== undefined) addCall(answer.calls, answer.calls.length - 1, null, null, use['input'])
  }
  for (const document of documents) {
    listOf(at(document, 'output', 'message', 'content')).forEach(addPart)
    addPart(fieldsOf(at(document, 'contentBlockStart', 'start')))
    addPart(fieldsOf(at(document, 'contentBlockDelta', 'delta')))
    answer.finish = textOf(document['stopReason']) ?? textOf(at(document, 'messageStop', 'stopReason')) ?? answer.finish
  }
  return answers
}

function cohere(documents: readonly Fields[]): ReadonlyMap<number, Folded> {
  const answers = new Answers()
  const answer = answers.of(0)
  for (const document of documents) {
    const message = fieldsOf(document['message'] ?? at(document, 'delta', 'message'))
    const parts = Array.isArray(message['content']) ? listOf(message['content']) : [fieldsOf(message['content'])]
    // The end of the first version's stream repeats the whole text.
    const isText = document['event_type'] === undefined || document['event_type'] === 'text-generation'
    answer.text += said(isText ? document['text'] : null, ...parts.map(({ text }) => text))
    answer.reasoning += said(...parts.map(({ thinking }) => thinking))
    for (const call of listOf(message['tool_calls']))
      answer.calls.push({
        id: textOf(call['id']),
        name: said(at(call, 'function', 'name')),
        arguments: said(at(call, 'function', 'arguments')),
      })
    const piece = fieldsOf(message['tool_calls'])
    const { type, index } = document
    if (type === 'tool-call-start' || type === 'tool-call-delta')
      addCall(
        answer.calls,
        Number(index),
        piece['id'],
        at(piece, 'function', 'name'),
        at(piece, 'function', 'arguments'),
      )
    answer.finish = textOf(document['finish_reason']) ?? textOf(at(document, 'delta', 'finish_reason')) ?? answer.finish
  }
  return answers
}

function ollama(documents: readonly Fields[]): ReadonlyMap<number, Folded> {
  const answers = new Answers()
  const answer = answers.of(0)
  for (const document of documents) {
    answer.text += said(document['response'], at(document, 'message', 'content'))
    answer.finish = textOf(document['done_reason']) ?? answer.finish
  }
  return answers
}

function anthropicComplete(documents: readonly Fields[]): ReadonlyMap<number, Folded> {
  return new Map(
    documents.map((document) => [
      0,
      { ...empty(), text: said(document['completion']), finish: textOf(document['stop_reason']) },
    ]),
  )
}

export const CHAT_FOLDS: Readonly<Record<string, Fold>> = {
  'openai-chat': openaiChat,
  'openai-completions': completions,
  'openai-responses': responses,
  'anthropic-messages': anthropic,
  'anthropic-complete': anthropicComplete,
  'gemini-generate': gemini,
  'bedrock-converse': bedrock,
  // The recorded ones are Claude's.
  'bedrock-invoke': anthropic,
  'cohere-v2-chat': cohere,
  'cohere-v1-chat': cohere,
  'ollama-chat': ollama,
  'ollama-generate': ollama,
}

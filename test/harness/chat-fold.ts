import { request, type Dispatcher } from 'undici'

/** A chat answer as a client sees it, streamed or not. */
export interface FoldedAnswer {
  readonly status: number
  readonly error: { readonly code: number; readonly message: string; readonly metadata: Record<string, unknown> } | null
  readonly choices: ReadonlyMap<number, FoldedChoice>
  readonly usage: Record<string, unknown> | null
  readonly done: boolean
  readonly headers: Readonly<Record<string, unknown>>
  readonly events: readonly Record<string, unknown>[]
  /** As it came. */
  readonly raw: string
}

export interface FoldedChoice {
  text: string
  reasoning: string
  refusal: string
  finish: string | null
  native: string | null
  toolCalls: { id: string; name: string; arguments: string }[]
}

function empty(): FoldedChoice {
  return { text: '', reasoning: '', refusal: '', finish: null, native: null, toolCalls: [] }
}

/** Sends a chat request, or one of a kind with the same form of answer, and folds the answer. */
export async function chat(
  url: string,
  key: string,
  body: Record<string, unknown>,
  headers: Record<string, string> = {},
  path = '/v1/chat/completions',
): Promise<FoldedAnswer> {
  const answer = await request(`${url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return foldBody(answer.statusCode, await answer.body.text(), answer.headers)
}

/** Folds an answer by its content type. */
export function foldBody(status: number, text: string, headers: Record<string, unknown>): FoldedAnswer {
  return String(headers['content-type']).startsWith('text/event-stream')
    ? foldStream(status, text, headers)
    : foldPlain(status, text, headers)
}

// The bodies are whatever the server sent; the assertions of the tests are their check.
function foldPlain(status: number, text: string, headers: Record<string, unknown>): FoldedAnswer {
  // oxlint-disable-next-line typescript/no-explicit-any
  const body: any = JSON.parse(text)
  const choices = new Map<number, FoldedChoice>()
  for (const choice of body.choices ?? []) {
    const message = choice.message ?? { content: choice.text }
    choices.set(choice.index, {
      text: message.content ?? '',
      reasoning: message.reasoning ?? '',
      refusal: message.refusal ?? '',
      finish: choice.finish_reason,
      native: choice.native_finish_reason,
      toolCalls: (message.tool_calls ?? []).map(
        (call: { id: string; function: { name: string; arguments: string } }) => ({
          id: call.id,
          name: call.function.name,
          arguments: call.function.arguments,
        }),
      ),
    })
  }
  return {
    status,
    error: body.error ?? null,
    choices,
    usage: body.usage ?? null,
    done: true,
    headers,
    events: [body],
    raw: text,
  }
}

export function foldStream(status: number, text: string, headers: Record<string, unknown>): FoldedAnswer {
  const choices = new Map<number, FoldedChoice>()
  const events: Record<string, unknown>[] = []
  let usage: Record<string, unknown> | null = null
  let error: FoldedAnswer['error'] = null
  let done = false
  for (const block of text.split('\n\n')) {
    const line = block.split('\n').find((candidate) => candidate.startsWith('data: '))
    if (line === undefined) continue
    if (line === 'data: [DONE]') {
      done = true
      continue
    }
    // oxlint-disable-next-line typescript/no-explicit-any
    const chunk: any = JSON.parse(line.slice(6))
    events.push(chunk)
    usage = chunk.usage ?? usage
    error = chunk.error ?? error
    for (const choice of chunk.choices ?? []) foldChoice(choices, choice)
  }
  return { status, error, choices, usage, done, headers, events, raw: text }
}

// oxlint-disable-next-line typescript/no-explicit-any
function foldChoice(choices: Map<number, FoldedChoice>, choice: any): void {
  const folded = choices.get(choice.index) ?? empty()
  choices.set(choice.index, folded)
  const delta = choice.delta ?? { content: choice.text }
  folded.text += delta.content ?? ''
  folded.reasoning += delta.reasoning ?? ''
  folded.refusal += delta.refusal ?? ''
  for (const call of delta.tool_calls ?? []) {
    folded.toolCalls[call.index] ??= { id: '', name: '', arguments: '' }
    const entry = folded.toolCalls[call.index]
    if (entry === undefined) continue
    entry.id ||= call.id ?? ''
    entry.name ||= call.function?.name ?? ''
    entry.arguments += call.function?.arguments ?? ''
  }
  folded.finish = choice.finish_reason ?? folded.finish
  folded.native = choice.native_finish_reason ?? folded.native
}

/** Reads a stream until it has so many events, then closes the connection; returns the text so far. */
export async function leaveAfter(answer: Dispatcher.ResponseData, events: number): Promise<string> {
  let text = ''
  for await (const piece of answer.body) {
    text += String(piece)
    if (text.split('\n\n').length > events) break
  }
  answer.body.destroy()
  answer.body.on('error', () => undefined)
  return text
}

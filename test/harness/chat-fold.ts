import { request, type Dispatcher } from 'undici'

/** An answer as it was received. */
export interface Posted {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly raw: string
}

export async function posted(url: string, headers: Record<string, string>, body: unknown): Promise<Posted> {
  const answer = await request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return { status: answer.statusCode, headers: answer.headers, raw: await answer.body.text() }
}

export function isStream({ headers }: Pick<Posted, 'headers'>): boolean {
  return String(headers['content-type']).startsWith('text/event-stream')
}

/** A chat answer as a client sees it, streamed or not. */
export interface FoldedAnswer extends Posted {
  readonly error: { readonly code: number; readonly message: string; readonly metadata: Record<string, unknown> } | null
  readonly choices: ReadonlyMap<number, FoldedChoice>
  readonly usage: Record<string, unknown> | null
  readonly done: boolean
  readonly events: readonly Record<string, unknown>[]
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

/** Sends a chat request, or a request of a kind with the same form of answer, and folds the answer. */
export async function chat(
  url: string,
  key: string,
  body: Record<string, unknown>,
  headers: Record<string, string> = {},
  path = '/v1/chat/completions',
): Promise<FoldedAnswer> {
  return folded(await posted(`${url}${path}`, { authorization: `Bearer ${key}`, ...headers }, body))
}

/** Folds an answer by its content type. */
export function foldBody(status: number, raw: string, headers: Record<string, unknown>): FoldedAnswer {
  return folded({ status, headers, raw })
}

function folded(answer: Posted): FoldedAnswer {
  if (isStream(answer)) return foldStream(answer.status, answer.raw, answer.headers)
  return foldEvents(answer, [JSON.parse(answer.raw)], true)
}

export function foldStream(status: number, raw: string, headers: Record<string, unknown>): FoldedAnswer {
  const datas = raw.split('\n\n').flatMap((block) => {
    const line = block.split('\n').find((candidate) => candidate.startsWith('data: '))
    return line === undefined ? [] : [line.slice('data: '.length)]
  })
  const chunks = datas.filter((data) => data !== '[DONE]')
  return foldEvents(
    { status, headers, raw },
    chunks.map((data) => JSON.parse(data)),
    chunks.length < datas.length,
  )
}

// The bodies are whatever the server sent; the assertions of the tests are their check.
// oxlint-disable-next-line typescript/no-explicit-any
function foldEvents(answer: Posted, events: readonly any[], done: boolean): FoldedAnswer {
  const choices = new Map<number, FoldedChoice>()
  let usage: FoldedAnswer['usage'] = null
  let error: FoldedAnswer['error'] = null
  for (const event of events) {
    usage = event.usage ?? usage
    error = event.error ?? error
    for (const choice of event.choices ?? []) foldChoice(choices, choice)
  }
  return { ...answer, error, choices, usage, done, events }
}

/** Adds a piece of a stream, or a whole choice. */
// oxlint-disable-next-line typescript/no-explicit-any
function foldChoice(choices: Map<number, FoldedChoice>, choice: any): void {
  const folded = choices.get(choice.index) ?? empty()
  choices.set(choice.index, folded)
  const said = choice.delta ?? choice.message ?? { content: choice.text }
  folded.text += said.content ?? ''
  folded.reasoning += said.reasoning ?? ''
  folded.refusal += said.refusal ?? ''
  for (const [place, call] of (said.tool_calls ?? []).entries()) {
    const entry = (folded.toolCalls[choice.delta === undefined ? place : call.index] ??= {
      id: '',
      name: '',
      arguments: '',
    })
    entry.id ||= call.id ?? ''
    entry.name ||= call.function?.name ?? ''
    entry.arguments += call.function?.arguments ?? ''
  }
  folded.finish = choice.finish_reason ?? folded.finish
  folded.native = choice.native_finish_reason ?? folded.native
}

/** Reads a stream until it has `events` events, then closes the connection; returns the text so far. */
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

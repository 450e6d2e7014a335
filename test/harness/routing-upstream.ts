import type { ServerResponse } from 'node:http'
import { startScriptedUpstream } from './scripted-upstream.ts'

/** Tokens of every good answer. */
export const ANSWER_TOKENS = { prompt: 100, completion: 40 } as const

/** One request as a provider received it. */
export interface Asked {
  readonly provider: string
  /** The credential, without `Bearer `. */
  readonly apiKey: string
  readonly body: Readonly<Record<string, unknown>>
}

/** Writes a provider's answer. */
export type Script = (response: ServerResponse, asked: Asked) => void | Promise<void>

/** Many providers behind one socket, each with a separate answer. */
export interface RoutingUpstream {
  /** In the order they came. */
  readonly asked: Asked[]
  baseUrl(provider: string): string
  /**
   * Sets the answer to the provider's requests from now on; without a script it is a good answer with the provider's
   * slug as its text.
   */
  says(provider: string, script: Script): void
  /** All providers give good answers again. */
  reset(): void
  close(): Promise<void>
}

export async function startRoutingUpstream(): Promise<RoutingUpstream> {
  const upstream = await startScriptedUpstream()
  const scripts = new Map<string, Script>()
  const asked: Asked[] = []
  upstream.answer((response, { url = '', headers }) => {
    const provider = decodeURIComponent(url.split('/')[1] ?? '')
    const call = {
      provider,
      apiKey: String(headers.authorization).replace('Bearer ', ''),
      body: upstream.requests.at(-1) ?? {},
    }
    asked.push(call)
    // What a script throws fails the test as an unhandled rejection.
    void (scripts.get(provider) ?? answers)(response, call)
  })
  return {
    asked,
    baseUrl: (provider) => `${upstream.url}/${encodeURIComponent(provider)}`,
    says: (provider, script) => scripts.set(provider, script),
    reset: () => scripts.clear(),
    close: () => upstream.close(),
  }
}

/** A good answer in the requested form, with the provider's slug as its text. */
export const answers: Script = (response, { provider, body }) => {
  if (body['stream'] === true) {
    streamHead(response, provider)
    streamRest(response)
    return
  }
  const usage = {
    prompt_tokens: ANSWER_TOKENS.prompt,
    completion_tokens: ANSWER_TOKENS.completion,
    total_tokens: ANSWER_TOKENS.prompt + ANSWER_TOKENS.completion,
  }
  reply(response, 200, {
    id: 'c',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: provider }, finish_reason: 'stop' }],
    usage,
  })
}

/** The same in Cohere's protocol. */
export const answersAsCohere: Script = (response, { provider }) => {
  const tokens = { input_tokens: ANSWER_TOKENS.prompt, output_tokens: ANSWER_TOKENS.completion }
  reply(response, 200, {
    id: 'c',
    finish_reason: 'COMPLETE',
    message: { role: 'assistant', content: [{ type: 'text', text: provider }] },
    usage: { tokens },
  })
}

/** An error answer. */
export function fails(status: number, headers: Readonly<Record<string, string>> = {}): Script {
  return (response) => reply(response, status, { error: { message: `status ${status}` } }, headers)
}

/** The first word of a stream. */
export function streamHead(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(event({ choices: [{ index: 0, delta: { content: text }, finish_reason: null }] }))
}

/** The end of a stream, with the usage. */
export function streamRest(response: ServerResponse): void {
  response.write(event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }))
  response.write(
    event({ choices: [], usage: { prompt_tokens: ANSWER_TOKENS.prompt, completion_tokens: ANSWER_TOKENS.completion } }),
  )
  response.end('data: [DONE]\n\n')
}

function event(fields: Readonly<Record<string, unknown>>): string {
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', ...fields })}\n\n`
}

function reply(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

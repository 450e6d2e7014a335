import assert from 'node:assert/strict'
import { request } from 'undici'
import type { ApiClient } from '../harness/api-client.ts'
import { foldBody, type FoldedAnswer } from '../harness/chat-fold.ts'
import type { ServerResponse } from 'node:http'
import { startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { completion } from '../harness/provider-answers.ts'

/** Tokens of every good answer. */
export const ANSWER_TOKENS = { prompt: 100, completion: 40 } as const

/** One request as a provider received it. */
interface Asked {
  readonly provider: string
  /** The credential, without `Bearer `. */
  readonly apiKey: string
  readonly body: Readonly<Record<string, unknown>>
}

/** Writes a provider's answer. */
type Script = (response: ServerResponse, asked: Asked) => void | Promise<void>

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
  upstream.answer((response, { path, headers }) => {
    const provider = decodeURIComponent(path.split('/')[1] ?? '')
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
  reply(response, 200, completion({ content: provider }, { usage }))
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

/** One way to serve a model. Prices in RUB per million tokens, `request` and `image` in RUB. */
export interface EndpointRow {
  readonly provider: string
  readonly prompt: number
  readonly completion: number
  readonly request?: number
  readonly image?: number
  /** Without a list, everything that the protocol carries. */
  readonly parameters?: readonly string[]
}

export interface RoutingCatalogue {
  /** Fields of a provider beyond the adapter `openai` and one credential named `<slug>-key`. */
  readonly providers?: Readonly<Record<string, { readonly adapter?: string; readonly keys?: readonly string[] }>>
  readonly models: Readonly<Record<string, readonly EndpointRow[]>>
}

/** A chat answer with the providers that were asked for it, in order. */
export interface Routed extends FoldedAnswer {
  readonly asked: readonly string[]
  /** As the answer itself states. */
  readonly model: string
  readonly provider: string
  readonly text: string
}

interface LogRow {
  readonly model_name: string
  readonly provider_name: string
  readonly status: string
  readonly total_cost: number
}

export interface RoutingBench<Server extends ApiClient> {
  readonly server: Server
  readonly upstream: RoutingUpstream
  /**
   * Asks for a chat answer, and checks that it was charged once, at the prices of the provider that gave it. `onBytes`
   * is called at each read of the answer.
   */
  ask(body: Readonly<Record<string, unknown>>, onBytes?: () => void): Promise<Routed>
  /** The same without a check, for concurrent requests; `checked` checks them together. */
  send(body: Readonly<Record<string, unknown>>, onBytes?: () => void): Promise<FoldedAnswer>
  /** Checks that exactly the answers served during `work` were charged, each once. `images` in each request. */
  checked<T>(work: () => Promise<T>, images?: number): Promise<{ readonly result: T; readonly rows: readonly LogRow[] }>
  /** The hold of the running requests, in micro-rubles. */
  heldMicro(): Promise<number>
  /** The endpoints of a model by their provider's slug, as clients see them. */
  // oxlint-disable-next-line typescript/no-explicit-any
  endpoints(model: string): Promise<Readonly<Record<string, any>>>
  /** Asserts that no hold is left and the books agree. */
  settled(): Promise<void>
  stop(): Promise<void>
}

const ROWS_MAX = 300

/** A display name, which is not the slug. */
export function nameOf(provider: string): string {
  return `Provider ${provider}`
}

/** The cost of a good answer at an endpoint, in micro-rubles: RUB per million tokens are micro-rubles per token. */
function costMicro({ prompt, completion, request: perRequest = 0, image = 0 }: EndpointRow, images: number): number {
  return (
    ANSWER_TOKENS.prompt * prompt +
    ANSWER_TOKENS.completion * completion +
    Math.round((perRequest + image * images) * 1e6)
  )
}

/** Providers with scripted answers, a Tollgate before them, and a customer whose every charge is checked. */
export async function startRoutingBench<Server extends ApiClient & { stop(): Promise<void> }>(
  catalogue: RoutingCatalogue,
  start: (catalog: string) => Promise<Server>,
): Promise<RoutingBench<Server>> {
  const upstream = await startRoutingUpstream()
  const server = await start(catalogueText(catalogue, upstream)).catch(async (thrown: unknown) => {
    await upstream.close()
    throw thrown
  })
  const { key } = await server.createAccount({ balance: 10_000 })

  const balance = async (): Promise<{ micro: number; heldMicro: number }> => {
    const { body } = await server.get('/v1/user/balance', key)
    return { micro: Math.round(body.balance * 1e6), heldMicro: Math.round(body.reserved * 1e6) }
  }
  const log = async (limit: number): Promise<{ total: number; logs: readonly LogRow[] }> =>
    (await server.get(`/v1/generation?limit=${limit}`, key)).body
  const costOf = ({ model_name: model, provider_name: provider }: LogRow, images: number): number => {
    const row = catalogue.models[model]?.find((endpoint) => nameOf(endpoint.provider) === provider)
    assert.ok(row !== undefined, `the log names an endpoint of the catalogue: ${model} at ${provider}`)
    return costMicro(row, images)
  }

  const bench: RoutingBench<Server> = {
    server,
    upstream,
    async send(fields, onBytes) {
      const answer = await request(`${server.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ max_tokens: 100, messages: [{ role: 'user', content: 'hi' }], ...fields }),
      })
      const parts: Buffer[] = []
      for await (const part of answer.body) {
        parts.push(part)
        onBytes?.()
      }
      return foldBody(answer.statusCode, Buffer.concat(parts).toString('utf8'), answer.headers)
    },
    async checked(work, images = 0) {
      const before = { ...(await balance()), ...(await log(1)) }
      const result = await work()
      const after = await balance()
      const { total } = await log(1)
      assert.ok(total - before.total <= ROWS_MAX, 'all new rows are on one page')
      const rows = total === before.total ? [] : (await log(total - before.total)).logs
      let paidMicro = 0
      for (const row of rows) {
        const expected: number = row.status === 'completed' ? costOf(row, images) : 0
        assert.equal(Math.round(row.total_cost * 1e6), expected, JSON.stringify(row))
        paidMicro += expected
      }
      assert.equal(before.micro - after.micro, paidMicro, 'the balance fell by what the log says')
      return { result, rows }
    },
    async ask(fields, onBytes) {
      const from = upstream.asked.length
      const { result: answer, rows } = await bench.checked(
        () => bench.send(fields, onBytes),
        JSON.stringify(fields).split('"image_url":').length - 1,
      )
      // Only a held and dispatched request has an id.
      assert.equal(
        rows.length,
        answer.headers['x-generation-id'] === undefined ? 0 : 1,
        'one row for a dispatched request',
      )
      const [first] = answer.events
      const routed = {
        ...answer,
        asked: upstream.asked.slice(from).map(({ provider }) => provider),
        model: String(first?.['model']),
        provider: String(first?.['provider']),
        text: answer.choices.get(0)?.text ?? '',
      }
      const [row] = rows
      if (answer.error !== null) {
        assert.notEqual(row?.status, 'completed')
        return routed
      }
      assert.ok(row !== undefined)
      assert.deepEqual([row.status, row.model_name, row.provider_name], ['completed', routed.model, routed.provider])
      assert.equal(routed.provider, nameOf(routed.asked.at(-1) ?? ''), 'who was asked last has answered')
      assert.equal(Number(answer.usage?.['cost']), row.total_cost)
      return routed
    },
    heldMicro: async () => (await balance()).heldMicro,
    async endpoints(model) {
      const { body } = await server.get(`/v1/models/${model}/endpoints`, key)
      // oxlint-disable-next-line typescript/no-explicit-any
      return Object.fromEntries(body.data.endpoints.map((endpoint: any) => [endpoint.tag, endpoint]))
    },
    async settled() {
      assert.equal(await bench.heldMicro(), 0)
      const audit = await server.admin('GET', '/admin/v1/audit')
      assert.equal(audit.body.violations, 0, audit.text)
    },
    async stop() {
      await server.stop()
      await upstream.close()
    },
  }
  return bench
}

function catalogueText({ providers = {}, models }: RoutingCatalogue, upstream: RoutingUpstream): string {
  const slugs = new Set(Object.values(models).flatMap((rows) => rows.map(({ provider }) => provider)))
  // JSON is YAML.
  return JSON.stringify({
    bundled: false,
    markup: 1,
    rate_limit: { requests: 100_000, window: 60 },
    providers: Object.fromEntries(
      [...slugs].map((slug) => [
        slug,
        {
          name: nameOf(slug),
          adapter: providers[slug]?.adapter ?? 'openai',
          base_url: upstream.baseUrl(slug),
          api_key: providers[slug]?.keys ?? `${slug}-key`,
        },
      ]),
    ),
    models: Object.entries(models).map(([id, rows]) => ({
      id,
      type: 'chat',
      context_length: 100_000,
      input_modalities: ['text', 'image', 'file'],
      endpoints: rows.map(({ provider, parameters, ...price }) => ({
        provider,
        model: 'm',
        price: { currency: 'RUB', ...price },
        ...(parameters === undefined ? {} : { supported_parameters: parameters }),
      })),
    })),
  })
}

import type { Principal } from '../access/principal.ts'
import { ApiError } from '../errors.ts'
import { HIJACKED, type Call, type Reply, type Route } from '../http/edge.ts'
import { principalOf } from './account.ts'
import { wholeParameter } from '../http/query.ts'

/** A Response whose stream runs or is kept, with the facts that this folder needs. */
interface FoundResponse {
  cancel(): Promise<void>
  body(): Promise<Readonly<Record<string, unknown>>>
}

export interface ResponseRoutePorts {
  /** Sends the events after number `after`, then the live ones; false = the stream cannot be resumed. */
  readonly attach: (call: Call<Principal>, id: string, after: number) => boolean
  /** By generation id. */
  readonly find: (accountId: string, id: string) => FoundResponse | null
  /** Responses of other nodes; null = no other nodes can be reached. */
  readonly elsewhere: {
    readonly attach: (call: Call<Principal>, id: string, after: number) => Promise<boolean>
    readonly cancel: (accountId: string, id: string) => Promise<unknown>
    /** null = no node has it. */
    readonly body: (accountId: string, id: string) => Promise<Readonly<Record<string, unknown>> | null>
  } | null
}

/** The other calls that SDKs make for Responses (wire.md D-7.8): retrieve, resume, cancel. */
export function responseRoutes(ports: ResponseRoutePorts): readonly Route<Principal>[] {
  return [
    { method: 'GET', path: '/v1/responses/:id', plane: 'key', body: 'none', handle: (call) => retrieve(ports, call) },
    {
      method: 'POST',
      path: '/v1/responses/:id/cancel',
      plane: 'key',
      body: 'none',
      handle: (call) => cancel(ports, call),
    },
  ]
}

async function retrieve(ports: ResponseRoutePorts, call: Call<Principal>): Promise<Reply | typeof HIJACKED> {
  const found = await responseOf(ports, call)
  if (call.query.get('stream') !== 'true') return { status: 200, body: await found.body() }
  // Events are counted from 1, their sequence numbers from 0.
  const after = (wholeParameter(call.query, 'starting_after', 0, Number.MAX_SAFE_INTEGER) ?? -1) + 1
  const id = generationId(call)
  if (!ports.attach(call, id, after) && (await ports.elsewhere?.attach(call, id, after)) !== true) throw notFound(call)
  return HIJACKED
}

async function cancel(ports: ResponseRoutePorts, call: Call<Principal>): Promise<Reply> {
  const found = await responseOf(ports, call)
  await found.cancel()
  return { status: 200, body: await found.body() }
}

async function responseOf(ports: ResponseRoutePorts, call: Call<Principal>): Promise<FoundResponse> {
  const { accountId } = principalOf(call)
  const found =
    ports.find(accountId, generationId(call)) ?? (await responseElsewhere(ports, accountId, generationId(call)))
  if (found === null) throw notFound(call)
  return found
}

async function responseElsewhere(
  { elsewhere }: ResponseRoutePorts,
  accountId: string,
  id: string,
): Promise<FoundResponse | null> {
  const known = (await elsewhere?.body(accountId, id)) ?? null
  if (elsewhere === null || known === null) return null
  let body = known
  return {
    cancel: async () => {
      await elsewhere.cancel(accountId, id)
      body = (await elsewhere.body(accountId, id)) ?? body
    },
    body: async () => body,
  }
}

function generationId({ params }: Call<Principal>): string {
  return (params['id'] ?? '').replace(/^resp-/, 'gen-')
}

function notFound({ params }: Call<Principal>): ApiError {
  return new ApiError('stream_not_found', `Stream '${(params['id'] ?? '').slice(0, 128)}' not found or expired`)
}

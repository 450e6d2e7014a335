import type { Principal } from '../access/principal.ts'
import { ApiError } from '../errors.ts'
import { HIJACKED, type Call, type Reply, type Route } from '../http/edge.ts'
import { principalOf } from './account.ts'
import { wholeParameter } from '../http/query.ts'

/** A Response whose stream runs or is kept, as far as this folder needs it. */
interface FoundResponse {
  cancel(): Promise<void>
  body(): Promise<Record<string, unknown>>
}

export interface ResponseRoutePorts {
  /** Sends events after number `after` and then the live ones; false when the stream cannot be resumed. */
  readonly attach: (call: Call<Principal>, id: string, after: number) => boolean
  /** By generation id. */
  readonly find: (accountId: string, id: string) => FoundResponse | null
}

/** What the SDKs of Responses ask for beside the request itself (wire.md D-7.8): retrieve, resume, cancel. */
export function responseRoutes(ports: ResponseRoutePorts): readonly Route<Principal>[] {
  return [
    { method: 'GET', path: '/v1/responses/:id', plane: 'key', body: 'none', handle: (call) => retrieve(ports, call) },
    { method: 'POST', path: '/v1/responses/:id/cancel', plane: 'key', body: 'none', handle: (call) => cancel(ports, call) },
  ]
}

async function retrieve(ports: ResponseRoutePorts, call: Call<Principal>): Promise<Reply | typeof HIJACKED> {
  const found = responseOf(ports, call)
  if (call.query.get('stream') !== 'true') return { status: 200, body: await found.body() }
  // Events are counted from 1, their sequence numbers from 0.
  const after = (wholeParameter(call.query, 'starting_after', 0, Number.MAX_SAFE_INTEGER) ?? -1) + 1
  if (!ports.attach(call, generationId(call), after)) throw notFound(call)
  return HIJACKED
}

async function cancel(ports: ResponseRoutePorts, call: Call<Principal>): Promise<Reply> {
  const found = responseOf(ports, call)
  await found.cancel()
  return { status: 200, body: await found.body() }
}

function responseOf(ports: ResponseRoutePorts, call: Call<Principal>): FoundResponse {
  const found = ports.find(principalOf(call).accountId, generationId(call))
  if (found === null) throw notFound(call)
  return found
}

function generationId({ params }: Call<Principal>): string {
  return (params['id'] ?? '').replace(/^resp-/, 'gen-')
}

function notFound({ params }: Call<Principal>): ApiError {
  return new ApiError('stream_not_found', `Stream '${(params['id'] ?? '').slice(0, 128)}' not found or expired`)
}

import type { Principal } from '../../access/principal.ts'
import { ApiError } from '../../base/errors.ts'
import { HIJACKED, type Call, type Reply, type Route } from '../../http/edge.ts'
import type { Reach } from '../../store/accounts/key-lists.ts'
import { principalOf } from './account.ts'
import { wholeParameter } from '../../base/query-parameters.ts'

/** A running or recently ended stream, with the facts that this folder needs. */
interface FoundStream {
  readonly finished: boolean
  readonly input: { readonly generationId: string }
  /** Resolves when the stream is settled, or at once if it is read only for its bill. */
  cancel(): Promise<unknown>
}

export interface StreamRoutePorts {
  /** Sends the events after number `after`, then the live ones; false = the stream cannot be resumed. */
  readonly attach: (call: Call<Principal>, id: string, after: number) => boolean
  readonly find: (reach: Reach, id: string) => FoundStream | null
  /** Streams of other nodes; null = no other nodes can be reached. */
  readonly elsewhere: {
    readonly attach: (call: Call<Principal>, id: string, after: number) => Promise<boolean>
    readonly cancel: (reach: Reach, id: string) => Promise<CancelledStream | null>
  } | null
}

interface CancelledStream {
  readonly generationId: string
  readonly status: 'completed' | 'cancelled'
}

/** Resume and cancel of a stream by X-Request-Id or generation id (wire.md D-7.8). */
export function streamRoutes(ports: StreamRoutePorts): readonly Route<Principal>[] {
  return [
    { method: 'GET', path: '/v1/streams', plane: 'key', body: 'none', handle: (call) => resume(ports, call) },
    { method: 'DELETE', path: '/v1/streams', plane: 'key', body: 'none', handle: (call) => cancel(ports, call) },
  ]
}

async function resume(ports: StreamRoutePorts, call: Call<Principal>): Promise<typeof HIJACKED> {
  const id = idOf(call)
  const lastEventId = call.request.headers['last-event-id']
  const fromHeader = typeof lastEventId === 'string' && /^\d{1,15}$/.test(lastEventId) ? Number(lastEventId) : 0
  const after = wholeParameter(call.query, 'after', 0, Number.MAX_SAFE_INTEGER) ?? fromHeader
  if (!ports.attach(call, id, after) && (await ports.elsewhere?.attach(call, id, after)) !== true) throw notFound(id)
  return HIJACKED
}

async function cancel(ports: StreamRoutePorts, call: Call<Principal>): Promise<Reply> {
  const id = idOf(call)
  const reach = principalOf(call)
  const stream = ports.find(reach, id)
  const cancelled = stream === null ? await ports.elsewhere?.cancel(reach, id) : await cancelHere(stream)
  if (cancelled === null || cancelled === undefined) throw notFound(id)
  return { status: 200, body: { id: cancelled.generationId, object: 'stream', status: cancelled.status } }
}

async function cancelHere(stream: FoundStream): Promise<CancelledStream> {
  const status = stream.finished ? 'completed' : 'cancelled'
  await stream.cancel()
  return { generationId: stream.input.generationId, status }
}

function idOf(call: Call<Principal>): string {
  const id = call.query.get('id')
  if (id === null || id === '')
    throw new ApiError('invalid_input', 'id: the X-Request-Id or the generation id of the stream is required')
  return id.replace(/^resp-/, 'gen-')
}

function notFound(id: string): ApiError {
  return new ApiError('stream_not_found', `Stream '${id.slice(0, 128)}' not found or expired`)
}

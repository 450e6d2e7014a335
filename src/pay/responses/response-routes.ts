import { reachName, type Principal } from '../../access/principal.ts'
import { ApiError } from '../../base/errors.ts'
import { HIJACKED, type Call, type Reply, type Route } from '../../http/edge.ts'
import { payerOf } from '../idempotency/idempotent-calls.ts'
import type { RoomEdge, RoomPorts } from '../paid-room.ts'
import { attachStream, findAnswer, type FoundAnswer } from '../paid/resumed-streams.ts'
import { generationIdOf, type KeptResponses } from './kept-responses.ts'
import { choiceParameter, wholeParameter } from '../../base/query-parameters.ts'
import type { Reach } from '../../store/accounts/key-lists.ts'
import type { JsonObject } from '../../base/json-text.ts'

const ITEMS_DEFAULT = 20
const ITEMS_MAX = 100

interface ResponseRoutePorts extends Pick<RoomPorts, 'relay' | 'sse'>, Pick<RoomEdge, 'elsewhere'> {
  readonly kept: KeptResponses
}

/** The other calls that SDKs make for Responses (wire.md D-7.8, clients.md 3). */
export function responseRoutes(ports: ResponseRoutePorts): readonly Route<Principal>[] {
  const route = (
    method: Route<Principal>['method'],
    rest: string,
    handle: (ports: ResponseRoutePorts, call: Call<Principal>) => ReturnType<typeof retrieve>,
  ): Route<Principal> => ({
    method,
    path: `/v1/responses/:id${rest}`,
    plane: 'key',
    body: 'none',
    handle: (call) => handle(ports, call),
  })
  return [
    route('GET', '', retrieve),
    route('DELETE', '', remove),
    route('POST', '/cancel', cancel),
    route('GET', '/input_items', inputItems),
  ]
}

async function retrieve(ports: ResponseRoutePorts, call: Call<Principal>): Promise<Reply | typeof HIJACKED> {
  const { reach, id } = asked(call)
  const body = await responseOf(ports, reach, id)
  if (body === null) throw notFound(call)
  if (call.query.get('stream') !== 'true') return { status: 200, body }
  // Events are counted from 1, their sequence numbers from 0.
  const after = (wholeParameter(call.query, 'starting_after', 0, Number.MAX_SAFE_INTEGER) ?? -1) + 1
  if (!attachStream(ports, call, id, after) && (await ports.elsewhere?.attach(call, id, after)) !== true)
    throw withoutEvents(call)
  return HIJACKED
}

/** A running answer is stopped, and its delivered part is charged. */
async function cancel(ports: ResponseRoutePorts, call: Call<Principal>): Promise<Reply> {
  const { reach, id } = asked(call)
  const here = found(ports, reach, id)
  if (here !== null) {
    await here.cancel()
    // The Response may have ended before the cancel: then it is kept with that end, or not kept at all.
    const ended = (await here.body()) ?? (await ports.kept.find(reach, id))
    if (ended === null) throw notFound(call)
    return { status: 200, body: ended }
  }
  const cancelled = await ports.elsewhere?.cancel(reach, id)
  // The node that runs it may not share this node's Valkey.
  if (cancelled === null || cancelled === undefined) await ports.kept.stop(reach, id)
  const body = await responseOf(ports, reach, id)
  if (body === null) throw notFound(call)
  return { status: 200, body }
}

/** Deletes a Response. One that still runs is stopped as well, since nobody could read its answer. */
async function remove(ports: ResponseRoutePorts, call: Call<Principal>): Promise<Reply> {
  const { reach, id } = asked(call)
  if (!(await ports.kept.remove(reach, id))) throw notFound(call)
  const here = found(ports, reach, id)
  await (here === null ? ports.elsewhere?.cancel(reach, id) : here.cancel())
  here?.forget()
  return { status: 200, body: { id: call.params['id'] ?? '', object: 'response', deleted: true } }
}

async function inputItems({ kept }: ResponseRoutePorts, call: Call<Principal>): Promise<Reply> {
  const { reach, id } = asked(call)
  const limit = wholeParameter(call.query, 'limit', 1, ITEMS_MAX) ?? ITEMS_DEFAULT
  const order = choiceParameter(call.query, 'order', { enum: ['asc', 'desc'] }) ?? 'desc'
  const after = call.query.get('after')
  const page = await kept.inputOf(reach, id, { order, after, limit })
  if (page === null) throw notFound(call)
  const { data, hasMore, isFound } = page
  if (!isFound) throw unknownItem(after)
  return {
    status: 200,
    body: {
      object: 'list',
      data,
      first_id: data[0]?.['id'] ?? null,
      last_id: data.at(-1)?.['id'] ?? null,
      has_more: hasMore,
    },
  }
}

function unknownItem(after: string | null): ApiError {
  return new ApiError(
    'invalid_input',
    `after: must be the id of an item in this list, got '${(after ?? '').slice(0, 64)}'`,
  )
}

/** A Response whose request runs here, or whose stream is kept here. */
function found(ports: ResponseRoutePorts, reach: Reach, id: string): FoundAnswer | null {
  return findAnswer(ports, reachName(reach), id)
}

/** The Response as it runs here, as it is kept, or as another node has it. */
async function responseOf(ports: ResponseRoutePorts, reach: Reach, id: string): Promise<JsonObject | null> {
  const here = await found(ports, reach, id)?.body()
  return here ?? (await ports.kept.find(reach, id)) ?? (await ports.elsewhere?.body(reach, id)) ?? null
}

function asked(call: Call<Principal>): { readonly reach: Reach; readonly id: string } {
  return { reach: payerOf(call), id: generationIdOf(call.params['id'] ?? '') }
}

/** The error for a Response whose answer exists but whose events do not. */
function withoutEvents({ params }: Call<Principal>): ApiError {
  const id = (params['id'] ?? '').slice(0, 128)
  return new ApiError(
    'stream_not_found',
    `The events of response '${id}' are not kept: its request did not say stream: true, or it ended too long ago. Ask for the answer without stream`,
  )
}

function notFound({ params }: Call<Principal>): ApiError {
  const id = (params['id'] ?? '').slice(0, 128)
  return new ApiError(
    'stream_not_found',
    `Response '${id}' not found: its request did not say store: true, or it was removed or is past its time`,
  )
}

import { type Principal, reachName } from '../../access/principal.ts'
import { ApiError } from '../../base/errors.ts'
import type { JsonObject } from '../../base/json-text.ts'
import { choiceParameter, wholeParameter } from '../../base/query-parameters.ts'
import { anything, flag, list, map, nullable, object, oneOf, only, optional, text, whole } from '../../base/schema.ts'
import type { WireRoute } from '../../base/wire-route.ts'
import { type Call, HIJACKED, type Reply, type Route } from '../../http/edge.ts'
import { ResponsesAnswer } from '../../protocols/responses/client/schema.ts'
import type { Reach } from '../../store/accounts/key-lists.ts'
import { payerOf } from '../idempotency/idempotent-calls.ts'
import type { RoomEdge, RoomPorts } from '../paid-room.ts'
import { type FoundAnswer, attachStream, findAnswer } from '../paid/resumed-streams.ts'
import { type KeptResponses, generationIdOf } from './kept-responses.ts'

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

const ResponseQuery = object({
  stream: optional(oneOf(['true', 'false'])),
  starting_after: optional(whole('', { minimum: 0 })),
})

const ResponseDeleted = object({ id: text(), object: only('response'), deleted: only(true) })
const ResponseItemsQuery = object({
  limit: optional(whole('20 if absent; 100 at most.', { minimum: 1 })),
  after: optional(text('The id of the item that it goes on from.')),
  order: optional(oneOf(['asc', 'desc'], '`desc` if absent: the newest first.')),
})
const ResponseItems = object({
  object: only('list'),
  data: list(map(anything())),
  first_id: nullable(text()),
  last_id: nullable(text()),
  has_more: flag(),
})

/** The routes of a stored Response. */
export const KEPT_DOCS: Readonly<Record<string, WireRoute>> = {
  'GET /v1/responses/:id': {
    summary: 'A Response that is kept, runs in the background, or whose stream runs or ended a short while ago.',
    query: ResponseQuery,
    answer: ResponsesAnswer,
    errors: ['invalid_input', 'stream_not_found'],
    records: { ResponseQuery, ResponseDeleted, ResponseItemsQuery, ResponseItems },
  },
  'DELETE /v1/responses/:id': {
    summary: 'Removes a kept Response. One that runs is stopped; the delivered part is charged.',
    answer: ResponseDeleted,
    errors: ['stream_not_found'],
  },
  'GET /v1/responses/:id/input_items': {
    summary: 'The items that a kept Response answers, those of the turns before included.',
    query: ResponseItemsQuery,
    answer: ResponseItems,
    errors: ['invalid_input', 'stream_not_found'],
    example: { query: { order: 'asc' } },
  },
  'POST /v1/responses/:id/cancel': {
    summary: 'Stops a Response that runs and answers it. The delivered part is charged.',
    answer: ResponsesAnswer,
    errors: ['stream_not_found', 'invalid_input'],
  },
}

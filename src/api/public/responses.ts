import type { Principal } from '../../access/principal.ts'
import { ApiError } from '../../base/errors.ts'
import { HIJACKED, type Call, type Reply, type Route } from '../../http/edge.ts'
import { choiceParameter, wholeParameter } from '../../base/query-parameters.ts'
import type { Reach } from '../../store/accounts/key-lists.ts'
import { principalOf } from './account.ts'
import type { JsonObject } from '../../base/json-text.ts'

const ITEMS_DEFAULT = 20
const ITEMS_MAX = 100

/** A Response whose request runs or whose stream is kept, with the facts that this folder needs. */
interface FoundResponse {
  cancel(): Promise<void>
  /** null = it was answered to its end, and nothing of that is in memory any more. */
  body(): Promise<JsonObject | null>
  /** Forgets the kept events. */
  forget(): void
}

export interface ResponseRoutePorts {
  /** Sends the events after number `after`, then the live ones; false = the stream cannot be resumed. */
  readonly attach: (call: Call<Principal>, id: string, after: number) => boolean
  /** Found by generation id. */
  readonly find: (reach: Reach, id: string) => FoundResponse | null
  /** Answers that are kept, by generation id. */
  readonly kept: {
    find(reach: Reach, id: string): Promise<JsonObject | null>
    /** `isFound`: the item `after` is in the list. */
    inputOf(
      reach: Reach,
      id: string,
      page: { readonly order: 'asc' | 'desc'; readonly after: string | null; readonly limit: number },
    ): Promise<{ readonly data: readonly JsonObject[]; readonly hasMore: boolean; readonly isFound: boolean } | null>
    remove(reach: Reach, id: string): Promise<boolean>
    /** Stops one that another node runs, through the store. */
    stop(reach: Reach, id: string): Promise<void>
  }
  /** Responses of other nodes; null = no other nodes can be reached. */
  readonly elsewhere: {
    readonly attach: (call: Call<Principal>, id: string, after: number) => Promise<boolean>
    readonly cancel: (reach: Reach, id: string) => Promise<unknown>
    /** null = no node has it. */
    readonly body: (reach: Reach, id: string) => Promise<JsonObject | null>
  } | null
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
  if (!ports.attach(call, id, after) && (await ports.elsewhere?.attach(call, id, after)) !== true)
    throw withoutEvents(call)
  return HIJACKED
}

/** A running answer is stopped, and its delivered part is charged. */
async function cancel(ports: ResponseRoutePorts, call: Call<Principal>): Promise<Reply> {
  const { reach, id } = asked(call)
  const found = ports.find(reach, id)
  if (found !== null) {
    await found.cancel()
    // Its end may have come first: then it is kept as that, or nowhere.
    const ended = (await found.body()) ?? (await ports.kept.find(reach, id))
    if (ended === null) throw notFound(call)
    return { status: 200, body: ended }
  }
  const cancelled = await ports.elsewhere?.cancel(reach, id)
  // That node may share no Valkey with this one.
  if (cancelled === null || cancelled === undefined) await ports.kept.stop(reach, id)
  const body = await responseOf(ports, reach, id)
  if (body === null) throw notFound(call)
  return { status: 200, body }
}

/** An answer that still runs is stopped too: nobody could read it. */
async function remove(ports: ResponseRoutePorts, call: Call<Principal>): Promise<Reply> {
  const { reach, id } = asked(call)
  if (!(await ports.kept.remove(reach, id))) throw notFound(call)
  const found = ports.find(reach, id)
  await (found === null ? ports.elsewhere?.cancel(reach, id) : found.cancel())
  found?.forget()
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

/** As it runs here, as it is kept, or as another node has it. */
async function responseOf(ports: ResponseRoutePorts, reach: Reach, id: string): Promise<JsonObject | null> {
  const here = await ports.find(reach, id)?.body()
  return here ?? (await ports.kept.find(reach, id)) ?? (await ports.elsewhere?.body(reach, id)) ?? null
}

function asked(call: Call<Principal>): { readonly reach: Reach; readonly id: string } {
  return { reach: principalOf(call), id: (call.params['id'] ?? '').replace(/^resp-/, 'gen-') }
}

/** The answer is there, its events are not. */
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

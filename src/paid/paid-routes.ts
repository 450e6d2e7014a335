import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Principal } from '../access/principal.ts'
import { protocolOfPath } from '../base/client-protocol.ts'
import type { HIJACKED, Call, Reply, Route } from '../http/edge.ts'
import { isLong } from '../http/json-body.ts'
import { parseMultipart } from '../http/multipart.ts'
import type { TurnMemory } from '../http/turn-memory.ts'
import { publicUrlOf } from '../http/public-url.ts'
import type { IdempotentCalls } from '../idempotency/idempotent-calls.ts'
import type { ResponsesDoor } from '../protocols/responses/client/request.ts'
import { previousIdOf } from '../protocols/responses/client/keeping.ts'
import { sessionOf, type PaidKind } from '../operations/paid-kind.ts'
import { isResponsesOperation } from '../operations/responses.ts'
import type { Operation } from '../pay/relay/operation.ts'
import { answerPaid, type AnswerPorts } from '../pay/paid/paid-answer.ts'
import { accountOf, isWarmUp, turnHistory, warmUp } from '../pay/responses/response-turns.ts'

const EMPTY = Buffer.alloc(0)
type KeptItems = Pick<ResponsesDoor, 'history' | 'resolved'>
const NOTHING_KEPT: KeptItems = { history: [], resolved: null }

export interface PaidRoutePorts extends AnswerPorts {
  readonly idempotency: IdempotentCalls
  /** null = taken from the request's Host. */
  readonly publicUrl: string | null
}

/** The routes of all paid kinds: an HTTP call becomes an operation, which the relay answers. */
export function paidRoutes(ports: PaidRoutePorts, kinds: readonly PaidKind[]): readonly Route<Principal>[] {
  return kinds.flatMap((kind) =>
    kind.paths.map((path): Route<Principal> => ({
      method: 'POST',
      path,
      plane: 'key',
      body: kind.body,
      ...(kind.protocol === undefined ? {} : { protocol: kind.protocol }),
      priority: 'paid',
      ...(kind.continues === true ? { turns: true as const } : {}),
      handle: (call) => paid(ports, kind, call),
    })),
  )
}

async function paid(ports: PaidRoutePorts, kind: PaidKind, call: Call<Principal>): Promise<Reply | typeof HIJACKED> {
  if (call.turn !== null) return paidTurn(ports, kind, call, call.turn)
  return paidOnce(ports, kind, call, kind.continues === true ? await keptItems(ports, call) : NOTHING_KEPT)
}

/** The kept items that a request continues or refers to. */
async function keptItems({ responses }: PaidRoutePorts, call: Call<Principal>): Promise<KeptItems> {
  const previousId = previousIdOf(call.json)
  const accountId = accountOf(call)
  return {
    history: previousId === null ? [] : await responses.history(accountId, previousId),
    resolved: await responses.resolved(accountId, call.json),
  }
}

/** A message of a socket; an `Idempotency-Key` of its handshake would be that of every turn, so none is looked at. */
async function paidTurn(
  ports: PaidRoutePorts,
  kind: PaidKind,
  call: Call<Principal>,
  turn: TurnMemory,
): Promise<Reply | typeof HIJACKED> {
  const { history, isKept } = await turnHistory(ports, call, turn)
  const resolved = await ports.responses.resolved(accountOf(call), call.json)
  const operation = operationOf(ports, kind, call, { history, resolved, isKept, socket: true })
  if (isWarmUp(call) && isResponsesOperation(operation)) return warmUp(ports, call, turn, operation, history)
  return answerPaid(ports, call, operation, null, history)
}

function paidOnce(
  ports: PaidRoutePorts,
  kind: PaidKind,
  call: Call<Principal>,
  kept: KeptItems,
): Promise<Reply | typeof HIJACKED> {
  const operation = operationOf(ports, kind, call, { ...kept, isKept: true, socket: false })
  const answer = (): Promise<Reply | typeof HIJACKED> =>
    ports.idempotency.once(call, (claim) => answerPaid(ports, call, operation, claim))
  return isLong(call.rawBody ?? EMPTY) ? nextTurn().then(answer) : answer()
}

/**
 * OpenAI's routes again, for a console session that acts for one of its keys: another way to identify the payer, not
 * another way to pay.
 */
export function playgroundRoutes(routes: readonly Route<Principal>[]): readonly Route<Principal>[] {
  return routes
    .filter(
      ({ plane, path, protocol = protocolOfPath(path) }) =>
        plane === 'key' && (protocol === 'openai' || protocol === 'responses'),
    )
    .map(({ turns: _turns, scope: _scope, ...route }) => ({
      ...route,
      path: route.path.replace(/^\/v1\//, '/cabinet/v1/playground/'),
      plane: 'playground',
    }))
}

function operationOf(
  { publicUrl }: PaidRoutePorts,
  kind: PaidKind,
  call: Call<Principal>,
  door: ResponsesDoor,
): Operation {
  const { json, rawBody = EMPTY, request, isSecure, params } = call
  const sessionId = sessionOf(request.headers['x-session-id'])
  const contentType = request.headers['content-type'] ?? ''
  const form = json === undefined ? parseMultipart(contentType, rawBody, kind.filesMax) : null
  return kind.read({
    json,
    door,
    rawBody,
    jsonMember: (name) => call.jsonMember(name),
    contentType,
    form,
    params,
    query: () => call.query,
    headers: request.headers,
    requestId: call.requestId,
    sessionId,
    publicUrl: publicUrlOf(publicUrl, { request, isSecure }),
  })
}

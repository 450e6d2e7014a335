import type { Principal } from '../../access/principal.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { Call } from '../../http/edge.ts'
import type { KeptStream } from '../../kinds/answer/writer.ts'
import type { ChunkIdentity } from '../../kinds/chat/answer.ts'
import { field, isObject } from '../../kinds/fields/body-fields.ts'
import type { AdapterTable } from '../../protocols/ports/adapter.ts'
import { responsesCall } from '../../protocols/responses/client/calls.ts'
import { previousIdOf, referencesOf } from '../../protocols/responses/client/keeping.ts'
import { keptResponse, newResponse } from '../../protocols/responses/client/response-body.ts'
import { parseResponses } from '../../protocols/responses/client/parse.ts'
import type { ResponsesDoor } from '../../protocols/responses/client/request.ts'
import type { AccountStore } from '../../store/accounts/account-store.ts'
import { exactCost, TYPICAL_USAGE } from '../../tables/meters.ts'
import { chatOperation } from '../operations/chat.ts'
import type { RequestReader } from '../operations/paid-kind.ts'
import { payerOf } from '../idempotency/idempotent-calls.ts'
import { chooseModels } from '../plan/model-choice.ts'
import { InsufficientBalanceError } from '../plan/plan.ts'
import { isWarmUp, keptHistory, remembering, turnHistory, warmUp, type TurnPorts } from './response-turns.ts'

export interface ResponsesPorts extends TurnPorts {
  readonly catalog: Pick<Catalog, 'current'>
  readonly accounts: Pick<AccountStore, 'get'>
}

/** Responses, which may continue kept answers, be kept, and come over a WebSocket (clients.md 3). */
export function responsesReader(adapters: AdapterTable, ports: ResponsesPorts): RequestReader {
  return {
    body: 'json',
    turns: true,
    read: async (input, call) => {
      const door = await doorOf(ports, call)
      const { history, resolved } = door
      const request = parseResponses(input.json, door, call.json)
      const { echo, added } = request
      const operation = {
        ...chatOperation(responsesCall(request, input), adapters),
        retrieved: (identity: ChunkIdentity, known: KeptStream | null) =>
          known === null ? newResponse(identity, echo) : keptResponse(identity, echo, known),
      }
      const { turn } = call
      const items = [...history, ...added]
      return {
        operation,
        earlier: [...history, ...(resolved ?? [])],
        keeperOf: () => {
          const kept = ports.responses.keeperOf(request, payerOf(call).accountId)
          return turn === null ? kept : remembering(ports, call, turn, kept, items)
        },
        answer: turn !== null && isWarmUp(call) ? () => warmUp(ports, call, turn, request, items) : null,
      }
    },
  }
}

/** The kept items that a request continues or refers to. Nothing is read for a request that will be refused. */
async function doorOf(ports: ResponsesPorts, call: Call<Principal>): Promise<ResponsesDoor> {
  const { json, turn } = call
  const payer = payerOf(call)
  const isFree = turn !== null && isWarmUp(call)
  if (!isFree && (previousIdOf(json) !== null || referencesOf(json).size > 0)) await refuseEarly(ports, payer, json)
  const before = turn === null ? await keptHistory(ports, call) : await turnHistory(ports, call, turn)
  return { ...before, resolved: await ports.responses.resolved(payer, json), socket: turn !== null }
}

/**
 * Refuses what cannot be served whatever is kept: an unknown model, one that the key may not use, an empty account. A
 * small request may refer to many megabytes, which are read only for one that can be paid for.
 */
async function refuseEarly(
  { catalog, accounts }: ResponsesPorts,
  { accountId, allowedModels, defaultModel }: Principal,
  body: unknown,
): Promise<void> {
  const [model, models] = isObject(body) ? [field(body, 'model'), field(body, 'models')] : []
  const names: readonly unknown[] = Array.isArray(models) ? models : []
  const fallbackModels = names.filter((name) => typeof name === 'string')
  // What is of another type is refused with the rest of the body.
  if ((model !== undefined && typeof model !== 'string') || fallbackModels.length < names.length) return
  const wish = { model: model ?? null, fallbackModels, defaultModel, allowedModels, type: 'responses' } as const
  const chosen = chooseModels(wish, catalog.current())
  const isFree = chosen.some(({ model: { endpoints } }) =>
    endpoints.some(({ sell }) => exactCost(TYPICAL_USAGE, sell).digits === 0n),
  )
  if (isFree) return
  const account = await accounts.get(accountId)
  if (account !== null && account.availableMicro + account.heldMicro <= 0n)
    throw new InsufficientBalanceError(1n, account.availableMicro, { tokens: false })
}

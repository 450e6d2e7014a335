import { Reread } from '../../base/reread.ts'
import type { Principal } from '../../access/principal.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { type Call, HIJACKED, type TurnMemory } from '../../http/edge.ts'
import type { KeptStream } from '../../kinds/answer/writer.ts'
import type { ChunkIdentity } from '../../kinds/chat/answer.ts'
import { field, isObject, invalidInput, quoted } from '../../kinds/fields/body-fields.ts'
import type { AdapterTable } from '../../protocols/ports/adapter.ts'
import { responsesCall } from '../../protocols/responses/client/calls.ts'
import { previousIdOf, referencesOf } from '../../protocols/responses/client/keeping.ts'
import { keptResponse, newResponse, responseId } from '../../protocols/responses/client/response-body.ts'
import { parseResponses } from '../../protocols/responses/client/parse.ts'
import type { ResponsesDoor, ResponsesRequest } from '../../protocols/responses/request.ts'
import type { AccountStore } from '../../store/accounts/account-store.ts'
import { exactCost, TYPICAL_USAGE } from '../../tables/meters.ts'
import { REQUEST_TYPE_TABLE } from '../../tables/model-types.ts'
import { chatOperation } from '../operations/chat.ts'
import type { PaidKind } from '../paid-room.ts'
import { payerOf } from '../idempotency/idempotent-calls.ts'
import { chooseModels } from '../plan/model-choice.ts'
import { InsufficientBalanceError } from '../plan/plan.ts'
import type { BodyBudget, BodyHold } from '../../http/body-budget.ts'
import type { SseStreams } from '../../http/sse.ts'
import type { AnswerKeeper } from '../relay/generation-input.ts'
import { conversation, type KeptResponses } from './kept-responses.ts'

interface ResponsesPorts extends TurnPorts {
  readonly catalog: Pick<Catalog, 'current'>
  readonly accounts: Pick<AccountStore, 'get'>
}

const MESSAGE_TYPE = 'response.create'

interface TurnPorts {
  readonly sse: SseStreams
  readonly responses: KeptResponses
  /** The memory for conversations of all sockets of the node. */
  readonly remembered: BodyBudget
}

/** The reader of Responses, which may continue kept answers, be kept, and come over a WebSocket (clients.md 3). */
export function responsesKind(adapters: AdapterTable, ports: ResponsesPorts): PaidKind {
  return {
    paths: REQUEST_TYPE_TABLE.responses.paths,
    body: 'json',
    turns: true,
    read: async (input, call) => {
      const door = await doorOf(ports, call)
      const { history, resolved } = door
      // Kept items are read from the store, which takes its time.
      const again = history.length === 0 && resolved === null ? input.again : null
      const read = Reread.of({ ...input, again }, (given) =>
        responsesCall(parseResponses(given.json, door, given.given), given),
      )
      const { echo } = read.value.request
      const operation = {
        ...chatOperation(read, adapters),
        retrieved: (identity: ChunkIdentity, known: KeptStream | null) =>
          known === null ? newResponse(identity, echo) : keptResponse(identity, echo, known),
      }
      const { turn } = call
      const items = (): readonly unknown[] => [...history, ...read.value.request.added]
      return {
        operation,
        earlier: [...history, ...(resolved ?? [])],
        keeperOf: () => {
          const kept = ports.responses.keeperOf(read, payerOf(call).accountId)
          return turn === null ? kept : remembering(ports, call, turn, kept, items())
        },
        answer: turn !== null && isWarmUp(call) ? () => warmUp(ports, call, turn, { echo, items: items() }) : null,
      }
    },
  }
}

/** The kept items that a request continues or refers to. They are not read for a request that will be refused. */
async function doorOf(ports: ResponsesPorts, call: Call<Principal>): Promise<ResponsesDoor> {
  const { json, turn } = call
  const payer = payerOf(call)
  const isFree = turn !== null && isWarmUp(call)
  if (!isFree && (previousIdOf(json) !== null || referencesOf(json).size > 0)) await refuseEarly(ports, payer, json)
  const before = turn === null ? await keptHistory(ports, call) : await turnHistory(ports, call, turn)
  return { ...before, resolved: await ports.responses.resolved(payer, json), socket: turn !== null }
}

/**
 * Refuses requests that cannot be served, whatever is kept: an unknown model, one that the key may not use, an empty
 * account. A small request may refer to many megabytes, which are read only if the request can be paid for.
 */
async function refuseEarly(
  { catalog, accounts }: ResponsesPorts,
  { accountId, allowedModels, defaultModel }: Principal,
  body: unknown,
): Promise<void> {
  const [model, models] = isObject(body) ? [field(body, 'model'), field(body, 'models')] : []
  const names: readonly unknown[] = Array.isArray(models) ? models : []
  const fallbackModels = names.filter((name) => typeof name === 'string')
  // A value of another type is refused with the rest of the body.
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

/** The conversation of a socket up to its newest answer, for a turn that continues this answer. */
class SocketConversation {
  readonly responseId: string
  /** A JSON array in text form: as objects it would take several times the memory. */
  readonly items: Buffer
  /** Whether the answer is also kept. */
  readonly isKept: boolean
  readonly #hold: BodyHold

  constructor(id: string, items: Buffer, isKept: boolean, hold: BodyHold) {
    this.responseId = id
    this.items = items
    this.isKept = isKept
    this.#hold = hold
  }

  release(): void {
    this.#hold.release()
  }
}

/** Items of the conversation that a turn continues: the socket's, else a kept one. Throws an ApiError. */
async function turnHistory(
  ports: TurnPorts,
  call: Call<Principal>,
  turn: TurnMemory,
): Promise<Pick<ResponsesDoor, 'history' | 'isKept'>> {
  const type = isObject(call.json) ? field(call.json, 'type') : undefined
  if (type !== MESSAGE_TYPE) throw invalidInput('type', `must be '${MESSAGE_TYPE}', got '${quoted(type ?? 'nothing')}'`)
  if (isObject(call.json) && field(call.json, 'stream_id') !== undefined)
    throw invalidInput('stream_id', 'is not offered: the turns of a socket run one after another')
  const { value } = turn
  if (value instanceof SocketConversation && value.responseId === previousIdOf(call.json))
    return { history: await conversation([value.items], 'previous_response_id'), isKept: value.isKept }
  return keptHistory(ports, call)
}

/** Items of the kept conversation that a request continues. Throws an ApiError. */
async function keptHistory(
  { responses }: TurnPorts,
  call: Call<Principal>,
): Promise<Pick<ResponsesDoor, 'history' | 'isKept'>> {
  const previousId = previousIdOf(call.json)
  return { history: previousId === null ? [] : await responses.history(payerOf(call), previousId), isKept: true }
}

/** Whether a turn has `generate: false`: the socket remembers its items, and nothing is asked of a model or charged. */
function isWarmUp({ json }: Call<Principal>): boolean {
  return isObject(json) && field(json, 'generate') === false
}

function warmUp(
  ports: TurnPorts,
  call: Call<Principal>,
  turn: TurnMemory,
  { echo, items }: Pick<ResponsesRequest, 'echo'> & { readonly items: readonly unknown[] },
): typeof HIJACKED {
  const id = call.requestId.replace(/^[a-z]+-/, 'gen-')
  const model = isObject(call.json) ? field(call.json, 'model') : undefined
  const identity = {
    id,
    created: Math.floor(call.arrivedAtMs / 1_000),
    model: typeof model === 'string' ? model : '',
    provider: '',
  }
  const begun = newResponse(identity, echo)
  const ended = { ...begun, status: 'completed', completed_at: identity.created }
  remember(ports, call, turn, { id, items, isKept: false })
  const stream = ports.sse.open(call.response, call.baseHeaders, {
    drained: () => undefined,
    detached: () => undefined,
  })
  const events = [
    ['response.created', begun],
    ['response.completed', ended],
  ] as const
  stream.end(
    events
      .map(([type, response], index) => `data: ${JSON.stringify({ type, sequence_number: index, response })}\n\n`)
      .join(''),
  )
  call.log.finish(200)
  return HIJACKED
}

/** Remembers the answer of a turn once it is charged, whether or not it is also `kept`. `items`: its input. */
function remembering(
  ports: TurnPorts,
  call: Call<Principal>,
  turn: TurnMemory,
  kept: AnswerKeeper | null,
  items: readonly unknown[],
): AnswerKeeper {
  let output: readonly unknown[] = []
  let isKept = false
  return {
    background: false,
    begin: async (answer) => kept?.begin(answer),
    fits: (answer) => kept?.fits(answer) ?? true,
    encrypt: (generationId, answer) => {
      output = Array.isArray(answer['output']) ? answer['output'] : []
      const encrypted = kept?.encrypt(generationId, answer) ?? null
      isKept = encrypted !== null
      return encrypted
    },
    end: (answer, result) => {
      kept?.end(answer, result)
      if (result.error !== null) return
      remember(ports, call, turn, { id: answer.input.generationId, items: [...items, ...output], isKept })
    },
  }
}

/** A turn for which the node has no room is not remembered: its client must then send the whole conversation. */
function remember(
  { remembered }: TurnPorts,
  call: Call<Principal>,
  turn: TurnMemory,
  { id, items, isKept }: { readonly id: string; readonly items: readonly unknown[]; readonly isKept: boolean },
): void {
  const json = Buffer.from(JSON.stringify(items))
  turn.keep(null)
  const hold = remembered.hold(call.clientIp, payerOf(call).accountId)
  if (hold.take(json.length) === null) turn.keep(new SocketConversation(responseId(id), json, isKept, hold))
  else hold.release()
}

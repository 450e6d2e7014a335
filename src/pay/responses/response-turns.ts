import type { Principal } from '../../access/principal.ts'
import { payerOf } from '../idempotency/idempotent-calls.ts'
import type { BodyBudget, BodyHold } from '../../http/body-budget.ts'
import { HIJACKED, type Call, type TurnMemory } from '../../http/edge.ts'
import type { SseStreams } from '../../http/sse.ts'
import { field, invalidInput, isObject, quoted } from '../../kinds/fields/body-fields.ts'
import { previousIdOf } from '../../protocols/responses/client/keeping.ts'
import type { ResponsesDoor, ResponsesRequest } from '../../protocols/responses/client/request.ts'
import { newResponse, responseId } from '../../protocols/responses/client/response-body.ts'
import type { AnswerKeeper } from '../relay/generation-input.ts'
import { conversation, type KeptResponses } from './kept-responses.ts'

const MESSAGE_TYPE = 'response.create'

export interface TurnPorts {
  readonly sse: SseStreams
  readonly responses: KeptResponses
  /** The memory of all sockets of the node. */
  readonly remembered: BodyBudget
}

/** The conversation of a socket up to its newest answer, for the turn that names it. */
class SocketConversation {
  readonly responseId: string
  /** A JSON array: as objects it would take several times the memory. */
  readonly items: Buffer
  /** The answer is kept besides. */
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

/** Items of the conversation that a turn continues: of its socket, else of what is kept. Throws an ApiError. */
export async function turnHistory(
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
export async function keptHistory(
  { responses }: TurnPorts,
  call: Call<Principal>,
): Promise<Pick<ResponsesDoor, 'history' | 'isKept'>> {
  const previousId = previousIdOf(call.json)
  return { history: previousId === null ? [] : await responses.history(payerOf(call), previousId), isKept: true }
}

/** `generate: false`: the socket remembers the items, and nothing is asked of a model or charged. */
export function isWarmUp({ json }: Call<Principal>): boolean {
  return isObject(json) && field(json, 'generate') === false
}

export function warmUp(
  ports: TurnPorts,
  call: Call<Principal>,
  turn: TurnMemory,
  { echo }: ResponsesRequest,
  items: readonly unknown[],
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

/** Remembers the answer of a turn once it is charged, whether or not it is `kept` besides. `items`: what it answers. */
export function remembering(
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

/** A turn that the node has no room for is not remembered: its client then sends the whole conversation. */
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

import type { Principal } from '../access/principal.ts'
import type { Call } from '../http/edge.ts'
import { keptResponse } from '../protocols/responses/client/kept-response.ts'
import type { RemoteStreams } from '../nodes/remote-streams.ts'
import { isResponsesOperation } from '../operations/responses.ts'
import { identityOf } from '../pay/responses/kept-responses.ts'
import { openStream, type AnswerPorts } from '../pay/paid/paid-answer.ts'

/** A Response that can be retrieved. */
export interface FoundResponse {
  /** Cancels it unless it has ended; what was delivered is charged. */
  cancel(): Promise<void>
  /** Its current state; null = it was answered to its end, and nothing of that is in memory any more. */
  body(): Promise<Record<string, unknown> | null>
  /** Its events are kept no longer. */
  forget(): void
}

/** Resumes a stream on another connection (wire.md D-7.8); answers false when there is no such stream. */
export function attachStream(ports: AnswerPorts, call: Call<Principal>, id: string, after: number): boolean {
  const generation = call.principal === null ? null : ports.relay.streams.resumable(call.principal.accountId, id)
  if (generation === null) return false
  const reader = openStream(ports, call, generation)
  if (reader !== null) generation.attach(reader, after)
  void generation.done.then(() => call.log.finish(200))
  return true
}

/** The Response of a stream that is running or still kept (wire.md D-7.8); null when there is none. */
export function findResponse(
  { relay }: Pick<AnswerPorts, 'relay'>,
  accountId: string,
  id: string,
): FoundResponse | null {
  const generation = relay.streams.find(accountId, id)
  if (generation === null || !isResponsesOperation(generation.input.operation)) return null
  const { operation, buffer } = generation.input
  const identity = identityOf(generation.input)
  const { echo } = operation
  return {
    cancel: async () => {
      await generation.cancel()
    },
    forget: () => relay.streams.drop(generation),
    body: async () => {
      const lastEvent = buffer?.last ?? null
      const result = generation.finished ? await generation.done : null
      const isAnswered = result?.error === null && result.record.status !== 'cancelled'
      if (isAnswered && lastEvent === null) return null
      return keptResponse(identity, echo, {
        lastEvent,
        ended: result ?? (generation.cancelled ? { error: null } : null),
      })
    },
  }
}

/** Like `attachStream`, for a stream on another node; `after` is the number of the client's last event. */
export async function attachRemote(
  { sse }: Pick<AnswerPorts, 'sse'>,
  remote: RemoteStreams,
  call: Call<Principal>,
  id: string,
  after: number,
): Promise<boolean> {
  const accountId = call.principal?.accountId ?? ''
  const generationId = await remote.find(accountId, id)
  if (generationId === null || call.response.destroyed) return false
  const headers = { ...call.baseHeaders, 'x-generation-id': generationId }
  void remote
    .send(accountId, generationId, after, (owner) => sse.open(call.response, headers, owner))
    .then(() => call.log.finish(200))
  return true
}

import type { Principal } from '../../access/principal.ts'
import type { Call } from '../../http/edge.ts'
import type { SseStream, StreamOwner } from '../../http/sse.ts'
import { reachName } from '../../access/principal.ts'
import { chargedUsage, identityOf } from '../relay/outcome.ts'
import { openStream, type AnswerPorts } from './paid-routes.ts'

/** An answer that can be retrieved. */
export interface FoundAnswer {
  /** Cancels it unless it has ended; the delivered part is charged. */
  cancel(): Promise<void>
  /** Its current state; null = it was answered to its end, and nothing of it is in memory any more. */
  body(): Promise<Readonly<Record<string, unknown>> | null>
  /** Drops its events from memory. */
  forget(): void
}

/** Resumes a stream on another connection (wire.md D-7.8); returns false if there is no such stream. */
export function attachStream(ports: AnswerPorts, call: Call<Principal>, id: string, after: number): boolean {
  const generation = call.principal === null ? null : ports.relay.streams.resumable(reachName(call.principal), id)
  if (generation === null) return false
  const reader = openStream(ports, call, generation)
  if (reader !== null) generation.attach(reader, after)
  void generation.done.then(() => call.log.finish(200))
  return true
}

/** The answer of a stream that runs or is still in memory (wire.md D-7.8); null = none that can be retrieved. */
export function findAnswer({ relay }: Pick<AnswerPorts, 'relay'>, owner: string, id: string): FoundAnswer | null {
  const generation = relay.streams.find(owner, id)
  const retrieved = generation?.input.operation.retrieved
  if (generation === null || retrieved === undefined) return null
  const { buffer } = generation.input
  return {
    cancel: async () => {
      await generation.cancel()
    },
    forget: () => relay.streams.drop(generation),
    body: async () => {
      const lastEvent = buffer?.last ?? null
      // A cancelled answer says what it cost as soon as the log does.
      const hasEnd = generation.finished || (generation.cancelled && generation.ending)
      const result = hasEnd ? await generation.done : null
      const isAnswered = result?.error === null && result.record.status !== 'cancelled'
      if (isAnswered && lastEvent === null) return null
      return retrieved(identityOf(generation.input, null), {
        lastEvent,
        ended:
          result === null
            ? generation.cancelled
              ? { error: null, usage: null }
              : null
            : { error: result.error, usage: chargedUsage(result) },
      })
    },
  }
}

/** The streams of other nodes. */
export interface FarStreams {
  /** The generation id of a stream of `owner`; null = there is none. */
  find(owner: string, id: string): Promise<string | null>
  /**
   * Sends the stream's events after number `after`; `open` commits the response. Resolves at the end, or when the
   * client leaves.
   */
  send(owner: string, generationId: string, after: number, open: (reader: StreamOwner) => SseStream): Promise<void>
}

/** Like `attachStream`, for a stream on another node; `after` is the number of the client's last event. */
export async function attachRemote(
  { sse }: Pick<AnswerPorts, 'sse'>,
  remote: FarStreams,
  call: Call<Principal>,
  id: string,
  after: number,
): Promise<boolean> {
  const owner = call.principal === null ? null : reachName(call.principal)
  const generationId = owner === null ? null : await remote.find(owner, id)
  if (owner === null || generationId === null || call.response.destroyed) return false
  const headers = { ...call.baseHeaders, 'x-generation-id': generationId }
  void remote
    .send(owner, generationId, after, (far) => sse.open(call.response, headers, far))
    .then(() => call.log.finish(200))
  return true
}

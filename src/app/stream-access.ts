import type { Principal } from '../access/principal.ts'
import { streamRoutes } from '../api/public/streams.ts'
import type { Call, Route } from '../http/edge.ts'
import type { SseStreams } from '../http/sse.ts'
import type { OwnStream, Shared } from '../nodes/shared.ts'
import type { AnswerPorts } from '../pay/paid/paid-routes.ts'
import { attachRemote, attachStream, findAnswer } from '../pay/paid/resumed-streams.ts'
import type { Relay } from '../pay/relay/relay.ts'
import { reachName } from '../access/principal.ts'
import type { Reach } from '../store/accounts/key-lists.ts'

/** Resume and cancel of streams, of this node and, where they share more than the store, of the others (wire.md D-7.8). */
export function streamAccessRoutes(
  paid: AnswerPorts,
  elsewhere: ReturnType<typeof otherNodes> | null,
): readonly Route<Principal>[] {
  return streamRoutes({
    attach: (call, id, after) => attachStream(paid, call, id, after),
    find: (reach, id) => paid.relay.streams.find(reachName(reach), id),
    elsewhere,
  })
}

/** Streams and answers on other nodes. */
export function otherNodes({ streams, messages }: Shared, sse: SseStreams) {
  return {
    attach: (call: Call<Principal>, id: string, after: number) => attachRemote({ sse }, streams, call, id, after),
    cancel: (reach: Reach, id: string) => messages.cancel(reachName(reach), id),
    body: (reach: Reach, id: string) => messages.response(reachName(reach), id),
  }
}

/** A stream of this node, as other nodes may read and cancel it. */
export function ownStream(relay: Relay, owner: string, id: string): OwnStream | null {
  const generation = relay.streams.find(owner, id)
  if (generation === null) return null
  const { input, done } = generation
  return {
    get finished() {
      return generation.finished
    },
    input,
    done,
    cancel: () => generation.cancel(),
    attach: (reader, after) => generation.attach(reader, after),
    detached: (reader) => generation.detached(reader),
    response: async () => (await findAnswer({ relay }, owner, id)?.body()) ?? null,
  }
}

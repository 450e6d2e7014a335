import type { Principal } from '../access/principal.ts'
import { responseRoutes } from '../api/public/responses.ts'
import { streamRoutes, type StreamRoutePorts } from '../api/public/streams.ts'
import type { Call, Route } from '../http/edge.ts'
import type { SseStreams } from '../http/sse.ts'
import type { Nodes } from '../nodes/nodes.ts'
import type { OwnStream } from '../nodes/stream-messages.ts'
import type { AnswerPorts } from '../pay/paid/paid-routes.ts'
import { attachRemote, attachStream, findAnswer } from '../pay/paid/resumed-streams.ts'
import type { Relay } from '../pay/relay/relay.ts'
import type { KeptResponses } from '../pay/responses/kept-responses.ts'
import { reachName } from '../access/principal.ts'
import type { Reach } from '../store/accounts/key-lists.ts'

/** Resume and cancel of streams, of this node and, where they share a Valkey, of the others (wire.md D-7.8). */
export function streamAccessRoutes(
  paid: AnswerPorts,
  kept: KeptResponses,
  nodes: Nodes,
  shared: boolean,
): readonly Route<Principal>[] {
  const attach: StreamRoutePorts['attach'] = (call, id, after) => attachStream(paid, call, id, after)
  const elsewhere = shared ? otherNodes(nodes, paid.sse) : null
  return [
    ...streamRoutes({ attach, find: (reach, id) => paid.relay.streams.find(reachName(reach), id), elsewhere }),
    ...responseRoutes({
      attach,
      find: (reach, id) => findAnswer(paid, reachName(reach), id),
      kept,
      elsewhere,
    }),
  ]
}

/** Requests for streams and Responses on other nodes that share this node's Valkey. */
function otherNodes(nodes: Nodes, sse: SseStreams) {
  return {
    attach: (call: Call<Principal>, id: string, after: number) =>
      nodes.remoteStreams === null
        ? Promise.resolve(false)
        : attachRemote({ sse }, nodes.remoteStreams, call, id, after),
    cancel: (reach: Reach, id: string) => nodes.cancelElsewhere(reachName(reach), id),
    body: (reach: Reach, id: string) => nodes.responseElsewhere(reachName(reach), id),
  }
}

/** A stream as other nodes may read and cancel it. */
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

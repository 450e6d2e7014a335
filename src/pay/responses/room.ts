import { AnswerBudget } from '../../protocols/answer-budget.ts'
import { BodyBudget } from '../../http/body-budget.ts'
import type { PaidRoomRow } from '../paid-room.ts'
import { KEPT_DOCS, responseRoutes } from './response-routes.ts'
import { KeptResponses } from './kept-responses.ts'
import { responsesKind } from './responses-reader.ts'

/** The most bytes of kept answers that one node reads at a time. */
const KEPT_BYTES_MAX = 128 * 1_048_576
/** The most bytes of conversations that all open WebSockets of a node remember. */
const REMEMBERED_BYTES_MAX = 64 * 1_048_576

/** Responses that continue kept ones, are kept, run in the background or come over a WebSocket (clients.md 3). */
export const RESPONSES_ROOM: PaidRoomRow = {
  open: ({ store, catalog, adapters, keyWrap, clock, singleProcess, relay, sse }) => {
    const responses = new KeptResponses({
      store: store.responses,
      generations: store.generations,
      shared: !singleProcess,
      keyWrap,
      clock,
      settings: () => catalog.current().settings.keptResponses,
      room: new AnswerBudget(KEPT_BYTES_MAX),
    })
    const remembered = new BodyBudget(REMEMBERED_BYTES_MAX)
    return {
      kinds: [responsesKind(adapters, { responses, sse, remembered, catalog, accounts: store.accounts })],
      routes: ({ elsewhere }) => responseRoutes({ relay, sse, kept: responses, elsewhere }),
      expiring: { 'Kept responses': responses },
    }
  },
  docs: KEPT_DOCS,
}

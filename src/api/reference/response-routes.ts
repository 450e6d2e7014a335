import { ResponseDeleted, ResponseItems, ResponseItemsQuery, ResponseQuery } from '../public/contract.ts'
import { ResponsesAnswer } from '../../protocols/responses/client/schema.ts'
import type { WireRoute } from '../../base/wire-route.ts'

/** The routes of a stored Response. */
export const RESPONSE_ROUTES: Readonly<Record<string, WireRoute>> = {
  'GET /v1/responses/:id': {
    summary: 'A Response that is kept, runs in the background, or whose stream runs or ended a short while ago.',
    query: ResponseQuery,
    answer: ResponsesAnswer,
    errors: ['invalid_input', 'stream_not_found'],
  },
  'DELETE /v1/responses/:id': {
    summary: 'Removes a kept Response. One that runs is stopped; the delivered part is charged.',
    answer: ResponseDeleted,
    errors: ['stream_not_found'],
  },
  'GET /v1/responses/:id/input_items': {
    summary: 'The items that a kept Response answers, those of the turns before included.',
    query: ResponseItemsQuery,
    answer: ResponseItems,
    errors: ['invalid_input', 'stream_not_found'],
    example: { query: { order: 'asc' } },
  },
  'POST /v1/responses/:id/cancel': {
    summary: 'Stops a Response that runs and answers it. The delivered part is charged.',
    answer: ResponsesAnswer,
    errors: ['stream_not_found', 'invalid_input'],
  },
}

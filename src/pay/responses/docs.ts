import { anything, flag, list, map, nullable, object, oneOf, only, optional, text, whole } from '../../base/schema.ts'
import type { WireRoute } from '../../base/wire-route.ts'
import { ResponsesAnswer } from '../../protocols/responses/client/schema.ts'

const ResponseQuery = object({
  stream: optional(oneOf(['true', 'false'])),
  starting_after: optional(whole('', { minimum: 0 })),
})

const ResponseDeleted = object({ id: text(), object: only('response'), deleted: only(true) })
const ResponseItemsQuery = object({
  limit: optional(whole('20 if absent; 100 at most.', { minimum: 1 })),
  after: optional(text('The id of the item that it goes on from.')),
  order: optional(oneOf(['asc', 'desc'], '`desc` if absent: the newest first.')),
})
const ResponseItems = object({
  object: only('list'),
  data: list(map(anything())),
  first_id: nullable(text()),
  last_id: nullable(text()),
  has_more: flag(),
})

/** The routes of a stored Response. */
export const KEPT_DOCS: Readonly<Record<string, WireRoute>> = {
  'GET /v1/responses/:id': {
    summary: 'A Response that is kept, runs in the background, or whose stream runs or ended a short while ago.',
    query: ResponseQuery,
    answer: ResponsesAnswer,
    errors: ['invalid_input', 'stream_not_found'],
    records: { ResponseQuery, ResponseDeleted, ResponseItemsQuery, ResponseItems },
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

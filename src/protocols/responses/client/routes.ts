import { CHAT_ERRORS, type ClientDocs } from '../../ports/client-call.ts'
import * as schema from './schema.ts'

const ROUTES: ClientDocs['routes'] = {
  'POST /v1/responses': {
    summary: 'The same models, in the form of Responses. Nothing is kept unless `store` or `background` says so.',
    body: schema.ResponsesBody,
    answer: schema.ResponsesAnswer,
    errors: [...CHAT_ERRORS, 'missing_input', 'previous_response_not_found', 'item_not_found'],
    example: { body: { model: 'sandbox/chat', input: 'Hello' } },
  },
}

export const RESPONSES_DOCS: ClientDocs = { routes: ROUTES, records: schema }

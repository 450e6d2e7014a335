import { flag, list, nullable, object, only, optional, text, time, whole } from '../../../base/schema.ts'
import { CHAT_ERRORS, type ClientDocs } from '../../ports/client-call.ts'
import * as schema from './schema.ts'

/** A model for clients of Anthropic's protocol, which send `anthropic-version`. */
const AnthropicModel = object({
  type: only('model'),
  id: text(),
  display_name: text(),
  created_at: time(),
  max_input_tokens: nullable(whole()),
  max_tokens: nullable(whole()),
})
const AnthropicModelList = object({
  data: list(AnthropicModel),
  has_more: flag(),
  first_id: nullable(text()),
  last_id: nullable(text()),
})

/** The query for a page of such a list. */
const AnthropicModelQuery = object({
  after_id: optional(text('With `anthropic-version`: what comes after this model.')),
  before_id: optional(text('With `anthropic-version`: what comes before this model.')),
})

export const ANTHROPIC_DOCS: ClientDocs = {
  routes: {
    'POST /v1/messages': {
      summary: 'The same models, in the form of Anthropic’s Messages.',
      body: schema.MessagesBody,
      answer: schema.MessagesAnswer,
      errors: CHAT_ERRORS,
      example: {
        body: { model: 'sandbox/chat', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] },
      },
    },
    'POST /v1/messages/count_tokens': {
      summary: 'The tokens of a message’s input. Costs nothing.',
      free: true,
      body: schema.CountedMessagesBody,
      answer: schema.CountedMessages,
      errors: [...CHAT_ERRORS, 'model_not_found', 'model_not_supported'],
      example: { body: { model: 'sandbox/chat', messages: [{ role: 'user', content: 'Hello' }] } },
    },
  },
  records: { ...schema, AnthropicModel, AnthropicModelList, AnthropicModelQuery },
  models: {
    query: AnthropicModelQuery,
    list: AnthropicModelList,
    one: AnthropicModel,
  },
}

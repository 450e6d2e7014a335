import type { ModelType } from '../catalog/catalog.ts'
import { parseChat } from '../kinds/chat-parse.ts'
import { chatFormat } from '../kinds/chat-writer.ts'
import { parseCompletions } from '../kinds/completions-parse.ts'
import { parseResponses } from '../kinds/responses/responses-parse.ts'
import type { AdapterTable } from '../providers/adapter.ts'
import type { Order } from '../relay/order.ts'
import { chatOrder } from './chat-order.ts'
import { completionsOrder } from './completions-order.ts'
import { responsesOrder } from './responses-order.ts'

/** What an order is read from. */
export interface OrderInput {
  /** The parsed body, always an object; undefined where it is multipart. */
  readonly json: unknown
  /** The body's bytes. */
  readonly rawBody: Buffer
  readonly contentType: string
  /** Of the `X-Session-Id` header; the body's own wins. */
  readonly sessionId: string | null
}

/** One paid kind: its routes, and how its requests are read. */
export interface PaidKind {
  /** Routes that lead to it, the first being its own. */
  readonly paths: readonly string[]
  /** Its name in the health record and in messages: the path without `/v1/`. */
  readonly endpointName: string
  /** `type` of the models that serve it. */
  readonly modelType: ModelType
  readonly body: 'json' | 'json-or-multipart'
  /** Throws an ApiError. */
  read(input: OrderInput): Order
}

/** Every paid kind. Another one is another row here, and no change of the paid path. */
export function paidKinds(adapters: AdapterTable): readonly PaidKind[] {
  return [
    {
      paths: ['/v1/chat/completions'],
      endpointName: 'chat/completions',
      modelType: 'chat',
      body: 'json',
      read: ({ json, sessionId }) => {
        const request = withSession(parseChat(json), sessionId)
        return chatOrder(request, { type: 'chat', endpointName: 'chat/completions', format: chatFormat(request.includeUsage) }, adapters)
      },
    },
    {
      paths: ['/v1/responses'],
      endpointName: 'responses',
      modelType: 'chat',
      body: 'json',
      read: ({ json, sessionId }) => {
        const request = parseResponses(json)
        return responsesOrder({ ...request, chat: withSession(request.chat, sessionId) }, adapters)
      },
    },
    {
      paths: ['/v1/completions'],
      endpointName: 'completions',
      modelType: 'chat',
      body: 'json',
      read: ({ json, sessionId }) => {
        const request = parseCompletions(json)
        return completionsOrder({ ...request, chat: withSession(request.chat, sessionId) }, adapters)
      },
    },
  ]
}

/** The header says the session where the body does not: it is logged and keeps a conversation at one provider. */
function withSession<Request extends { readonly sessionId: string | null }>(request: Request, sessionId: string | null): Request {
  return request.sessionId === null && sessionId !== null ? { ...request, sessionId } : request
}

import type { Model, ModelType } from '../catalog/catalog.ts'
import type { UploadedForm } from '../kinds/transcription-parse.ts'
import type { Order } from '../relay/order.ts'

/** What an order is read from. */
export interface OrderInput {
  /** The parsed body, always an object; undefined where it is multipart. */
  readonly json: unknown
  /** The body's bytes. */
  readonly rawBody: Buffer
  readonly contentType: string
  /** A multipart body, read; null where it is JSON. */
  readonly form: UploadedForm | null
  /** Of the `X-Session-Id` header; the body's own wins. */
  readonly sessionId: string | null
  /** Where the client reaches this service, for addresses in an answer; without a trailing slash. */
  readonly publicUrl: string
}

/** One paid kind: its routes, and how its requests are read. */
export interface PaidKind {
  /** Routes that lead to it, the first being its own. */
  readonly paths: readonly string[]
  /** Its name in the health record and in messages: the path without `/v1/`. */
  readonly endpointName: string
  /** `type` of the models that serve it. */
  readonly modelType: ModelType
  /** Models of other types that serve it too. */
  readonly alsoServes?: (model: Model) => boolean
  readonly body: 'json' | 'json-or-multipart'
  /** Throws an ApiError. */
  read(input: OrderInput): Order
}

/** The header says the session where the body does not: it is logged and keeps a conversation at one provider. */
export function withSession<Request extends { readonly sessionId: string | null }>(
  request: Request,
  sessionId: string | null,
): Request {
  return request.sessionId === null && sessionId !== null ? { ...request, sessionId } : request
}

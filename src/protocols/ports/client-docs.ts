import type { ErrorName } from '../../base/errors.ts'
import type { Fields, JsonSchema, ObjectSchema } from '../../base/schema.ts'
import type { WireRoute } from '../../base/wire-route.ts'

/** The routes and records of a client protocol, used only by the reference. */
export interface ClientDocs {
  readonly routes: Readonly<Record<string, WireRoute>>
  /** The module's exports, which contain its records by their names. */
  readonly records: Readonly<Record<string, unknown>>
  /** The form of models on the path that all protocols share. */
  readonly models?: {
    readonly query: ObjectSchema<Fields>
    readonly list: JsonSchema
    readonly one: JsonSchema
  }
}

/** Refusals of a request whose answer is text, and of a conversation. */
const TEXT_ERRORS: readonly ErrorName[] = [
  'missing_model',
  'invalid_input',
  'invalid_base64',
  'token_limit_exceeded',
  'empty_response',
]
export const CHAT_ERRORS: readonly ErrorName[] = [
  ...TEXT_ERRORS,
  'missing_messages',
  'invalid_message_format',
  'invalid_message_role',
  'invalid_response_format',
]
/** Refusals of embeddings and rankings. */
export const UNIT_ERRORS: readonly ErrorName[] = ['missing_model', 'invalid_input', 'empty_response']

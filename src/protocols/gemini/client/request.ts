import type { ChatRequest } from '../../../kinds/chat/request.ts'
import type { RawObject } from '../../../kinds/fields/body-fields.ts'

/** Fields that are sent to no provider: they name an account, have a separate price, or are a callback. */
export const WITHHELD = ['labels', 'store', 'webhookConfig', 'modelArmorConfig'] as const
/** The same in `generationConfig`: they choose another model than the one with the price. */
export const WITHHELD_CONFIG = ['routingConfig', 'modelConfig', 'modelSelectionConfig'] as const

/** A request of `generateContent`, with the equivalent chat request. */
export interface GenerateContentRequest {
  readonly chat: ChatRequest
  /** The client's body, unchanged. */
  readonly body: RawObject
  /** Whether chunks are sent as server-sent events, or as items of one JSON array. */
  readonly framing: 'sse' | 'array'
  /** Thoughts are shown only on request. */
  readonly showsThoughts: boolean
  /** The tool with which the provider searches the web; null = none. */
  readonly search: string | null
  /** Whether the request would mean something else without its search. */
  readonly needsSearch: boolean
  /** A member that only providers of this protocol understand; null = none. */
  readonly nativeOnly: { readonly path: string; readonly value: string } | null
  /** A file is not what its type says, so it is sent only as a chat, in which it has its real type. */
  readonly isMistyped: boolean
  /** Parts of the request that are sent to no provider. */
  readonly withheld: readonly string[]
  /** Parts that are sent only to providers of this protocol. */
  readonly untranslated: readonly string[]
}

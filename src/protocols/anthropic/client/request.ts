import type { ChatRequest } from '../../../kinds/chat/request.ts'
import type { JsonMember } from '../../../base/json-scan.ts'
import type { RawObject } from '../../../kinds/fields/body-fields.ts'

/** A request of Anthropic's Messages (clients.md 2). */
export interface MessagesRequest {
  /** The equivalent chat request. */
  readonly chat: ChatRequest
  /** The client's own body, for a provider that speaks the protocol. */
  readonly body: RawObject
  /** The client's headers that are sent with its body. */
  readonly headers: Readonly<Record<string, string>>
  /** A field of the body as the client's bytes; null = it is written again. */
  readonly member: (name: string) => JsonMember | null
  /** Tools that the provider runs; null = none. */
  readonly serverTools: ServerTools | null
  /**
   * The part because of which only a provider that speaks the protocol can serve the request: a tool that the provider
   * runs, or a word newer than this reader.
   */
  readonly nativeOnly: { readonly path: string; readonly type: string } | null
  /** A file is not what its block says, so it is sent only as a chat, in which it has its real type. */
  readonly isMistyped: boolean
  /** Parts that have no form in a chat. */
  readonly untranslated: readonly string[]
  /** Parts that no provider is sent, because they cost money or name an account. */
  readonly withheld: readonly string[]
  /** Whether thinking is returned only as its signature. */
  readonly omitsThinking: boolean
}

/** Tools that the provider runs. */
export interface ServerTools {
  /** The most calls, which the hold covers. */
  readonly callsMax: number
  /** The number of these calls that may be web searches. */
  readonly searchesMax: number
  /** Their types, in the client's spelling. */
  readonly types: readonly string[]
}

/** Facts collected while a body is read. */
export interface ReadingNotes {
  readonly untranslated: Set<string>
  readonly withheld: Set<string>
  /** Bytes of inline pictures and documents, which are not text. */
  mediaBytes: number
  /** Tokens of instructions that a provider adds for its own tools. */
  toolTokens: number
  nativeOnly: MessagesRequest['nativeOnly']
  /** The first path at which a file is not what its block says; null = none. */
  mistyped: string | null
  /** Whether blocks that are only copied contain files. */
  copiesFiles: boolean
}

export function newNotes(): ReadingNotes {
  return {
    untranslated: new Set(),
    withheld: new Set(),
    mediaBytes: 0,
    toolTokens: 0,
    nativeOnly: null,
    mistyped: null,
    copiesFiles: false,
  }
}

import type { ChatRequest } from '../../../kinds/chat/request.ts'
import type { RawObject } from '../../../kinds/fields/body-fields.ts'

/** A request of Anthropic's Messages (clients.md 2). */
export interface MessagesRequest {
  /** The equivalent chat request. */
  readonly chat: ChatRequest
  /** The client's own body, for a provider that speaks the protocol. */
  readonly body: RawObject
  /** Its headers that go with it. */
  readonly headers: Readonly<Record<string, string>>
  /** The bytes of `safeguards`, which that provider may compare; null = as any other field. */
  readonly safeguards: Buffer | null
  /** Tools that the provider runs; null = none. */
  readonly serverTools: ServerTools | null
  /**
   * Why only a provider that speaks the protocol can serve it: a tool that it runs, or a word that is newer than this
   * reader.
   */
  readonly nativeOnly: { readonly path: string; readonly type: string } | null
  /** A file is not what its block says: only as a chat is it sent as what it is. */
  readonly isMistyped: boolean
  /** Parts that have no form in a chat. */
  readonly untranslated: readonly string[]
  /** Parts that no provider is sent, because they cost money or name an account. */
  readonly withheld: readonly string[]
  /** Thinking is returned as its signature only. */
  readonly omitsThinking: boolean
}

/** Tools that the provider runs. */
export interface ServerTools {
  /** The most calls, which the hold covers. */
  readonly callsMax: number
  /** Those of them that may be web searches. */
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
  /** Where a file is first not what its block says; null = nowhere. */
  mistyped: string | null
  /** Blocks that are only copied hold files. */
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

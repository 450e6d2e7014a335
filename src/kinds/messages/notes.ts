import type { MessagesRequest } from '../../protocols/anthropic/client/request.ts'

/** Facts collected while a body is read. */
export interface ReadingNotes {
  readonly untranslated: Set<string>
  readonly withheld: Set<string>
  /** Bytes of inline pictures and documents, which are not text. */
  mediaBytes: number
  /** Tokens of instructions that a provider adds for its own tools. */
  toolTokens: number
  nativeOnly: MessagesRequest['nativeOnly']
}

export function newNotes(): ReadingNotes {
  return { untranslated: new Set(), withheld: new Set(), mediaBytes: 0, toolTokens: 0, nativeOnly: null }
}

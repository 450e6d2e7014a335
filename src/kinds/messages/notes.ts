import type { MessagesRequest } from './request.ts'

/** What the reading of a body finds on its way. */
export interface ReadingNotes {
  readonly untranslated: Set<string>
  readonly withheld: Set<string>
  /** Of pictures and documents given inline: they are no text. */
  mediaBytes: number
  /** Tokens of instructions that a provider adds for tools of its own. */
  toolTokens: number
  nativeOnly: MessagesRequest['nativeOnly']
}

export function newNotes(): ReadingNotes {
  return { untranslated: new Set(), withheld: new Set(), mediaBytes: 0, toolTokens: 0, nativeOnly: null }
}

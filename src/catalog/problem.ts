import type { FieldCheck, FieldChecks } from '../base/refusals.ts'

/** A problem of a text before it is parsed into a document: its syntax, size or a variable. Only files have it. */
export interface FileProblem {
  /** 0 for a document that came as JSON through the API. */
  readonly line: number
  readonly path: string
  readonly message: string
  /** The document is accepted, but one of its endpoints cannot be routed to. */
  readonly unroutable?: boolean
}

/**
 * A problem of a field: an English sentence, and the name of the check with its figures for pages in another language.
 */
export interface Fault {
  readonly path: string
  readonly message: string
  readonly check: FieldCheck
  readonly params: FieldChecks[FieldCheck]
}

export interface Problem extends FileProblem, Fault {}

export function fault<C extends FieldCheck>(path: string, check: C, params: FieldChecks[C], message: string): Fault {
  return { path, message, check, params }
}

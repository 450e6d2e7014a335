import type { FieldCheck, FieldChecks } from '../refusals.ts'

/** What is wrong with a text before it is a document: its syntax, its size, a variable. Only a file can have it. */
export interface FileProblem {
  /** 0 for a document that came as JSON through the API. */
  readonly line: number
  readonly path: string
  readonly message: string
  /** The document stands, but an endpoint of it cannot be routed to. */
  readonly unroutable?: boolean
}

/**
 * What is wrong with a field: beside the English sentence the check by name with its figures, for pages in another
 * language.
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

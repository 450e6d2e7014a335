import type { WireRoute } from '../../base/wire-route.ts'
import type { AdminScope } from '../../tables/scopes.ts'

/** A route of the admin API. */
export interface AdminWireRoute extends WireRoute {
  /**
   * The words of the route's command. A word in brackets is a field of the body that may be given as the last argument.
   * A command written by hand has the same words, and serves the route too.
   */
  readonly command: string
  /** The scope that its caller needs. */
  readonly scope: AdminScope
  /** Fields of its body whose change needs another scope as well. */
  readonly parts?: Readonly<Record<string, AdminScope>>
  /**
   * The route makes access that outlives a session, so a session must prove itself anew (`ProofBody`): always, or if
   * the body has one of these fields.
   */
  readonly proof?: true | readonly string[]
}

/** The same scope for several parts of a body. */
export function partsOf(names: readonly string[], scope: AdminScope): Readonly<Record<string, AdminScope>> {
  return Object.fromEntries(names.map((name) => [name, scope]))
}

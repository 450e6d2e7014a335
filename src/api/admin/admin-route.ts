import type { WireRoute } from '../../base/wire-route.ts'
import type { AdminScope } from '../../tables/admin-scopes.ts'

/** A route of the admin API. */
export interface AdminWireRoute extends WireRoute {
  /**
   * The command of the route. A word in brackets is a field of the body that may stand as the last argument. A command
   * that is written by hand has the same words, and serves the route too.
   */
  readonly command: string
  /** The scope that its caller needs. */
  readonly scope: AdminScope
  /** Parts of its body whose change needs another scope besides. */
  readonly parts?: Readonly<Record<string, AdminScope>>
  /**
   * It makes access that outlives a session, which must prove itself anew (`ProofBody`): always, or with these parts of
   * its body.
   */
  readonly proof?: true | readonly string[]
}

/** The same scope for several parts of a body. */
export function partsOf(names: readonly string[], scope: AdminScope): Readonly<Record<string, AdminScope>> {
  return Object.fromEntries(names.map((name) => [name, scope]))
}

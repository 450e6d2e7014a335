import { identitiesOf, identityNamed, takeIdentity } from '../../access/identities.ts'
import type { Principal } from '../../access/principal.ts'
import { reasonError } from '../../base/refusals.ts'
import type { Route } from '../../http/edge.ts'
import { proofOf, proveOwner, type OwnProof } from './own-proof.ts'
import { recordEvent } from '../records/ports.ts'
import { visitReply, visitRoute, type CabinetCall, type CabinetPorts, type Visit } from './ports.ts'

export interface OidcConfig {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** The text of its button on the sign-in page. */
  readonly name: string
}

/** Settings of single sign-on; null = it is not set up. */
export interface SignOnConfig {
  readonly oidc: OidcConfig | null
}

/** The user who adds single sign-on, and their session; null = a sign-in. */
export interface FlowLink {
  readonly userId: string
  readonly sessionId: string
}

/** Single sign-on of the console. */
export interface SingleSignOn {
  readonly name: string
  readonly routes: readonly Route<Principal>[]
  /** The issuer's address for the browser, and the cookie that it brings back. */
  begin(call: CabinetCall, link: FlowLink): Promise<{ readonly url: string; readonly cookie: string }>
}

/**
 * The user's identities at the single sign-on issuer: the user lists, adds and removes them, each change with a proof.
 */
export function identityRoutes(ports: CabinetPorts, signOn: SingleSignOn | null): readonly Route<Principal>[] {
  return [
    visitRoute(ports, 'GET /cabinet/v1/identities', ({ user }) => ({ data: identitiesOf(user) })),
    visitReply(ports, 'POST /cabinet/v1/identities/link', async (visit, read) => {
      await proveOwner(ports, visit, proofOf(read()))
      if (signOn === null) throw reasonError('oidc_unset')
      if (visit.user.oidc !== null) throw reasonError('connected')
      const { url, cookie } = await signOn.begin(visit.call, { userId: visit.user.id, sessionId: visit.session.id })
      return { status: 200, body: { url }, headers: { 'set-cookie': cookie } }
    }),
    visitRoute(ports, 'POST /cabinet/v1/identities/:id/unlink', (visit, read) => unlink(ports, visit, proofOf(read()))),
  ]
}

async function unlink(
  ports: CabinetPorts,
  visit: Visit,
  proof: OwnProof,
): Promise<{ readonly id: string; readonly deleted: true }> {
  const { user, session, call } = visit
  const id = call.params['id'] ?? ''
  const known = identityNamed(user, id)
  await proveOwner(ports, visit, proof)
  await takeIdentity(ports.store.users, user, known)
  // Other sessions may have been opened through this identity.
  await ports.store.sessions.deleteOthers(user.id, session.hash)
  await recordEvent(ports, visit, 'user.oidc_unlink', user.id, known)
  return { id, deleted: true }
}

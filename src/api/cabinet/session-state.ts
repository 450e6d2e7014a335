import { ROLE_SCOPES } from '../../tables/admin-scopes.ts'
import { PASSWORD_LENGTH } from '../../access/passwords.ts'
import { publicUrlOf } from '../../http/public-url.ts'
import { MEMBER_ROLE_SCOPES } from '../../tables/member-scopes.ts'
import { rubles } from '../../base/money.ts'
import { currentMembership } from '../../store/people/member-store.ts'
import type { SessionRecord } from '../../store/people/session-store.ts'
import type { UserRecord } from '../../store/people/user-store.ts'
import { Profile, type ServiceFacts, type SessionState } from './session-contract.ts'
import { FRESH_SIGN_IN_MS } from './own-proof.ts'
import { type CabinetCall, type CabinetPorts } from './ports.ts'
import { isoTime } from '../../base/time.ts'
import { wire } from '../../base/wire.ts'

/** Facts about the service that the sign-in page shows. */
async function serviceFacts(ports: CabinetPorts, call: CabinetCall, oidcName: string | null): Promise<ServiceFacts> {
  const { settings } = ports.catalog.current()
  return {
    version: ports.version,
    signup: settings.signup ?? ports.signupDefault,
    oidc: oidcName === null ? null : { name: oidcName, start: '/cabinet/v1/oidc/start' },
    password_reset: ports.mailedLinks !== null,
    needs_setup: (await ports.store.users.owners()) === 0,
    maintenance: settings.maintenance === null ? null : { message: settings.maintenance.message },
    api_base: `${publicUrlOf(ports.publicUrl, call)}/v1`,
    currency: 'RUB',
    service_timezone: settings.timezone,
    password: PASSWORD_LENGTH,
  }
}

/** The user, as they are in the account of the session. */
export async function profileOf(
  ports: CabinetPorts,
  given: UserRecord,
  { accountId: chosen }: Pick<SessionRecord, 'accountId'>,
): Promise<Profile> {
  const user = (await ports.store.users.get(given.id)) ?? given
  const memberships = await ports.store.members.of(user)
  const membership = currentMembership(memberships, chosen)
  const account = membership === null ? null : await ports.store.accounts.get(membership.accountId)
  const names = await ports.store.accounts.names(new Set(memberships.map(({ accountId }) => accountId)))
  const limitMicro = membership?.monthlyLimitMicro ?? null
  return wire(Profile, user, {
    user_id: user.id,
    scopes: user.operatorRole === null ? [] : [...ROLE_SCOPES[user.operatorRole]],
    account_id: account?.id ?? '',
    account_status: account?.status ?? 'active',
    account_role: membership?.role ?? null,
    account_scopes: membership === null ? [] : [...MEMBER_ROLE_SCOPES[membership.role]],
    monthly_limit: limitMicro === null ? null : rubles(limitMicro),
    accounts: memberships.map(({ accountId, role }) => ({
      account: accountId,
      name: names.get(accountId) ?? '',
      role,
    })),
    default_model: account?.defaultModel ?? null,
    has_password: user.passwordHash !== null,
    has_oidc: user.oidc !== null,
    totp: {
      enabled: user.totpEnabled,
      recovery_codes_left: user.totpEnabled ? await ports.store.users.recoveryCodesLeft(user.id) : 0,
    },
    must_enrol_totp: user.role === 'admin' && ports.adminTotpRequired && !user.totpEnabled,
  })
}

export async function sessionState(
  ports: CabinetPorts,
  call: CabinetCall,
  oidcName: string | null,
  found: { readonly user: UserRecord; readonly session: SessionRecord } | null,
): Promise<SessionState> {
  const service = await serviceFacts(ports, call, oidcName)
  if (found === null) return { service, profile: null, session: null }
  const { session } = found
  return {
    service,
    profile: await profileOf(ports, found.user, session),
    session: {
      id: session.id,
      idle_ends_at: isoTime(Math.min(session.endsAtMs, session.lastSeenAtMs + session.idleMs)),
      ends_at: isoTime(session.endsAtMs),
      fresh_until: isoTime(session.createdAtMs + FRESH_SIGN_IN_MS),
    },
  }
}

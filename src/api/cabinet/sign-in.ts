import { readEmail } from '../../base/mail-address.ts'
import { userAgentOf } from '../../access/console-sessions.ts'
import type { Cipher } from '../../base/cipher.ts'
import { ApiError } from '../../base/errors.ts'
import { reasonError } from '../../base/refusals.ts'
import { ipKey } from '../../http/client-ip.ts'
import type { SignInMethod, SignInRule, SignInStart } from '../../store/people/sign-in-store.ts'
import type { UserRecord } from '../../store/people/user-store.ts'
import { recordEvent } from '../records/ports.ts'
import type { CabinetCall, CabinetPorts } from './ports.ts'
import type { CodeSignInBody, SignInBody } from './session-contract.ts'
import { useCode } from './own-proof.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../base/time.ts'

const TICKET_MS = 5 * MINUTE_MS
const TICKET_PURPOSE = 'cabinet/sign-in-ticket/v1'
/** No user is locked out for good: failures leave each window. */
const RULES: readonly SignInRule[] = [
  { of: 'email_and_ip', failures: 5, windowMs: 15 * MINUTE_MS },
  { of: 'ip', failures: 30, windowMs: HOUR_MS },
]
/** An address from which the user signed in within this time is not blocked by failures from other addresses. */
const KNOWN_ADDRESS_MS = 30 * DAY_MS
/** After so many failures, only an attempt that also brings the second factor is checked. */
const ACCOUNT_RULE: SignInRule = { of: 'email', failures: 100, windowMs: HOUR_MS, knownAddressMs: KNOWN_ADDRESS_MS }

/** Codes are short, so a thief of the password must not be able to try them from many addresses. */
const CODE_RULES: readonly SignInRule[] = [
  ...RULES,
  { of: 'email_codes', failures: 100, windowMs: HOUR_MS, knownAddressMs: KNOWN_ADDRESS_MS },
]
/**
 * A browser that the user has signed in from is counted only for itself, at any address: others at that address cannot
 * lock it out.
 */
const DEVICE_RULES: readonly SignInRule[] = [{ of: 'device', failures: 5, windowMs: 15 * MINUTE_MS }]

/** `code_required`: the first factor was right, and the ticket proves it. */
export type SignInResult =
  | { readonly status: 'signed_in'; readonly user: UserRecord }
  | { readonly status: 'code_required'; readonly ticket: string }

/** Signs in with e-mail, password and, where one is given or required, a code. */
export async function signIn(
  ports: CabinetPorts,
  call: CabinetCall,
  { email: given, password, code = null }: SignInBody,
): Promise<SignInResult> {
  const email = readEmail(given)
  const user = await ports.store.users.findByEmail(email)
  const secondFactor = user !== null && user.totpEnabled && code !== null
  const attempt = await begin(ports, call, email, user, secondFactor ? CODE_RULES : [...RULES, ACCOUNT_RULE])
  const right = await ports.passwords.verify(password, user?.passwordHash ?? null).catch(async (thrown: unknown) => {
    await ports.store.signIns.forget(attempt)
    throw thrown
  })
  if (!right || user === null || user.disabled) {
    await recordEvent(ports, { actor: email, ip: call.clientIp }, 'sign_in.failed', user?.id ?? email)
    throw reasonError('wrong_password')
  }
  if (!user.totpEnabled) return done(ports, call, attempt, user, 'password')
  if (code === null) {
    // The password was right: from here only a wrong code is a failure.
    await ports.store.signIns.forget(attempt)
    return { status: 'code_required', ticket: ticketFor(ports, user) }
  }
  return finishWithCode(ports, call, attempt, user, code)
}

/** The second step of sign-in; the ticket proves the first. */
export async function signInWithCode(
  ports: CabinetPorts,
  call: CabinetCall,
  { ticket, code }: CodeSignInBody,
): Promise<SignInResult> {
  const user = await ticketHolder(ports, ticket)
  if (user === null || user.disabled || !user.totpEnabled) throw reasonError('sign_in_late')
  return finishWithCode(ports, call, await begin(ports, call, user.email, user, CODE_RULES), user, code)
}

/**
 * Checks the second factor of a user whose first factor was neither a password nor single sign-on. Counts as an attempt
 * to sign in; throws if the code is wrong.
 */
export async function proveSecondFactor(
  ports: CabinetPorts,
  call: CabinetCall,
  user: UserRecord,
  code: string,
): Promise<void> {
  const attempt = await begin(ports, call, user.email, user, CODE_RULES)
  await rightCode(ports, call, attempt, user, code)
  await ports.store.signIns.forget(attempt)
}

/** Signs in a user whose identity single sign-on has proved. */
export async function signInProven(
  ports: CabinetPorts,
  call: CabinetCall,
  user: UserRecord,
  method: 'oidc',
): Promise<SignInResult> {
  if (user.disabled) throw reasonError('wrong_password')
  if (user.totpEnabled) return { status: 'code_required', ticket: ticketFor(ports, user) }
  return done(ports, call, await noted(ports, call, user, method), user, method)
}

/** Notes a sign-in that took no password: a sign-up, a set-up link. */
export async function noted(
  ports: CabinetPorts,
  call: CabinetCall,
  user: UserRecord,
  method: SignInMethod,
): Promise<number> {
  const started = await begun(ports, call, user, [], { method, device: null })
  if (started.status !== 'begun') throw new Error('Without rules nothing is limited.')
  await ports.store.signIns.succeed(started.id, user.id, method)
  return started.id
}

async function begin(
  ports: CabinetPorts,
  call: CabinetCall,
  email: string,
  user: UserRecord | null,
  rules: readonly SignInRule[],
): Promise<number> {
  const device = user === null ? null : ports.sessions.deviceOf(user, call.request)
  const counted = device === null ? rules : DEVICE_RULES
  const started = await begun(ports, call, { email, id: user?.id ?? null }, counted, { method: 'password', device })
  if (started.status === 'begun') return started.id
  const retryAfterSeconds = Math.max(1, Math.ceil((started.retryAtMs - started.atMs) / 1_000))
  throw new ApiError('rate_limit_exceeded', `Too many failed sign-ins. Retry after ${retryAfterSeconds} seconds`, {
    retryAfterSeconds,
    noRetry: true,
  })
}

/** Notes a try, as far as the rules let it. */
async function begun(
  ports: CabinetPorts,
  call: CabinetCall,
  { email, id: userId }: { readonly email: string; readonly id: string | null },
  rules: readonly SignInRule[],
  how: { readonly method: SignInMethod; readonly device: string | null },
): Promise<SignInStart & { readonly atMs: number }> {
  const atMs = ports.clock.now()
  const from = { ip: call.clientIp, ipKey: ipKey(call.clientIp), userAgent: userAgentOf(call.request) }
  return { atMs, ...(await ports.store.signIns.begin({ atMs, email, userId, ...from, ...how }, rules)) }
}

async function finishWithCode(
  ports: CabinetPorts,
  call: CabinetCall,
  attempt: number,
  user: UserRecord,
  code: string,
): Promise<SignInResult> {
  return done(ports, call, attempt, user, await rightCode(ports, call, attempt, user, code))
}

async function rightCode(
  ports: CabinetPorts,
  call: CabinetCall,
  attempt: number,
  user: UserRecord,
  code: string,
): Promise<SignInMethod> {
  const method = await useCode({ users: ports.store.users, cipher: ports.cipher }, user, code, ports.clock.now())
  if (method !== null) return method
  await ports.store.signIns.failCode(attempt)
  await recordEvent(ports, { actor: user.email, ip: call.clientIp }, 'sign_in.failed', user.id)
  throw reasonError('wrong_code')
}

async function done(
  ports: CabinetPorts,
  call: CabinetCall,
  attempt: number,
  user: UserRecord,
  method: SignInMethod,
): Promise<SignInResult> {
  await ports.access.bounds.take('sign_ins', user.id)
  await ports.store.signIns.succeed(attempt, user.id, method)
  await recordEvent(ports, { actor: user.email, ip: call.clientIp }, 'sign_in', user.id, { method })
  return { status: 'signed_in', user }
}

/** The ticket is encrypted, so that it needs no row: it names the user whose first factor was right, and its expiry. */
function ticketFor({ cipher, clock }: CabinetPorts, user: UserRecord): string {
  return sealTicket(cipher, TICKET_PURPOSE, [user.id, clock.now() + TICKET_MS, user.passwordHash?.slice(-16) ?? ''])
}

/** Facts that their bearer brings back, and cannot read or change. */
export function sealTicket(cipher: Cipher, purpose: string, facts: readonly (string | number)[]): string {
  return cipher.encrypt(Buffer.from(JSON.stringify(facts)), purpose).toString('base64url')
}

async function ticketHolder({ cipher, clock, store }: CabinetPorts, ticket: string): Promise<UserRecord | null> {
  const [id, untilMs, mark] = openTicket(cipher, TICKET_PURPOSE, ticket)
  if (id === undefined || Number(untilMs) <= clock.now()) return null
  const user = await store.users.get(id)
  // A ticket is void once the password has changed.
  return user !== null && (user.passwordHash?.slice(-16) ?? '') === mark ? user : null
}

/** The facts of a ticket; none of a forged, cut or undecryptable one. */
export function openTicket(cipher: Cipher, purpose: string, ticket: string): readonly string[] {
  try {
    const facts: unknown = JSON.parse(cipher.decrypt(Buffer.from(ticket, 'base64url'), purpose).toString('utf8'))
    return Array.isArray(facts) ? facts.map(String) : []
  } catch {
    return []
  }
}

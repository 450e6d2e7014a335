import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type AdminScope, MEMBER_ROLE_SCOPES, type MemberScope, ROLE_SCOPES } from '../tables/scopes.ts'
import { type Principal } from './principal.ts'
import type { Settings } from '../catalog/catalog.ts'
import { ApiError } from '../base/errors.ts'
import { fieldError, reasonError } from '../base/refusals.ts'
import type { AccessPlane, AccessResult, EdgeAccess } from '../http/edge.ts'
import type { Clock } from '../base/clock.ts'
import type { KeyStore } from '../store/accounts/key-store.ts'
import { type ConsoleSession, isSafeMethod, isSameOrigin } from './console-sessions.ts'
import type { AdminToken, AdminTokenStore } from '../store/people/admin-token-store.ts'
import {
  DIFFERENT_KEYS,
  KEY_PREFIX,
  MANAGEMENT_PREFIX,
  bearer,
  digestOf,
  digestText,
  isAdminToken,
  isManagementKey,
  isWellFormed,
  presentedKey,
} from './api-key.ts'
import { IpGuard } from './ip-guard.ts'
import { Bounds, type NodeShare, RateLimiter, rateHeaders } from './rate-limit.ts'
import { KeyCache, knownKey, refusalOf, type ChangedRows, type KnownKey } from './key-cache.ts'
import {
  missingKey,
  differentKeys,
  invalidKey,
  wrongKind,
  unauthorized,
  tooManyRequests,
  blockedError,
} from './key-terms.ts'
import { ipKey } from '../http/client-ip.ts'
import type { SharedGuard } from './shared-access.ts'
import type { RateDecision } from './sliding-window.ts'

const ADMIN_TOKEN_LENGTH_MIN = 32
/** How often a success renews the guard's record of (address, key). The record lasts a day. */
const PROVE_EVERY_MS = 60_000
/** How often the last use of an admin token is written. */
const TOUCH_MS = 60_000
/** Of an account's changes in a minute, the number that only its owners may make, so members cannot use them up. */
const OWNERS_CHANGES = 60
const NO_SCOPES: ReadonlySet<AdminScope> = new Set()
const NO_MEMBER_SCOPES: ReadonlySet<MemberScope> = new Set()
const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({})
const ALONE: NonNullable<AccessOptions['shared']> = Object.freeze({
  nodes: () => 1,
  windows: null,
  guard: null,
  blocked: () => undefined,
  unblocked: async () => undefined,
})
const ADMITTED: AccessResult<Principal> = Object.freeze({ principal: null, headers: NO_HEADERS })

export interface AccessOptions {
  readonly keys: Pick<KeyStore, 'findByDigest' | 'findOwner' | 'touch' | 'changes'>
  /** Keys that manage keys; absent = the service has none. */
  readonly managementKeys?: Pick<KeyStore, 'findByDigest' | 'touch' | 'changes'>
  readonly clock: Clock
  /** Live settings: both limits may change between two requests. */
  readonly settings: () => Pick<Settings, 'rateLimit' | 'ipBlock'>
  /** The operator's own token; null = programs use named tokens only. */
  readonly adminToken: string | null
  /** Named tokens of the admin API; absent = the service has none. */
  readonly adminTokens?: Pick<AdminTokenStore, 'findByDigest' | 'touch'>
  /** The request's console session, or null without a valid one. */
  readonly session: (request: IncomingMessage) => Promise<ConsoleSession | null>
  /** Administrators must turn on two-step sign-in before they may use the admin API. */
  readonly adminTotpRequired: boolean
  /** State shared with other nodes; absent = there are no other nodes. */
  readonly shared?: NodeShare & {
    readonly guard: SharedGuard | null
    /** Reports a block that began on this node to the other nodes. */
    readonly blocked: (ip: string, leftMs: number, blocks: number) => void
    /** Ends a block on other nodes; rejects when the store does not answer. */
    readonly unblocked: (ip: string) => Promise<void>
  }
}

/**
 * Checks each request before its body is read: who calls, from which address, and how often.
 *
 * Keys come from `key-cache.ts`, which learns of changes, so a deleted key stops on every node. `ip-guard.ts` blocks
 * addresses that guess keys, `rate-limit.ts` counts requests of accounts and keys, and all else that has a
 * bound; several nodes share the counts (`shared-access.ts`). A browser's change must come from our pages
 * (`console-sessions.ts`). It reads no body; the hold enforces spending limits. It stores only digests of keys.
 */
export interface Access extends EdgeAccess<Principal> {
  /** How often callers may do things other than requests. */
  readonly bounds: Bounds
  /**
   * The actor of a change through the admin API, for the audit log: `token`, `token:NAME` or the administrator's
   * e-mail; null before `admit`.
   */
  actorOf(request: IncomingMessage): string | null
  /** The scopes of the caller of a route of the admin API; none before `admit`. */
  scopesOf(request: IncomingMessage): ReadonlySet<AdminScope>
  /** The named token that opened a route of the admin API; null = another caller. */
  adminTokenOf(request: IncomingMessage): AdminToken | null
  /** Whether a console session opened the route. */
  hasSession(request: IncomingMessage): boolean
  /** The console session of a request of the `session` or `playground` plane; throws before `admit`. */
  sessionOf(request: IncomingMessage): ConsoleSession
  /** Makes this node apply an administrator's change of a key, an account or a group at once. */
  invalidate(changed: ChangedRows): void
  /** Takes over a block from another node, or its end when `blocks` is 0; the address is in the form of `ipKey`. */
  block(ip: string, leftMs: number, blocks: number): void
  /** Reports this node's accepted requests to the shared rate windows after an outage of them. */
  tellWindows(): Promise<void>
  /** Addresses that are blocked now; `until` in Unix ms. */
  blocks(): readonly { readonly ip: string; readonly untilMs: number; readonly times: number }[]
  /** Ends a block here and on the other nodes; false = it was not blocked. */
  unblock(ip: string): Promise<boolean>
  /** Writes the last-used times that are still in memory. */
  close(): Promise<void>
}

export function createAccess(options: AccessOptions): Access {
  return new AccessStage(options)
}

class AccessStage implements Access {
  readonly bounds: Bounds
  readonly #options: AccessOptions
  readonly #clock: Clock
  readonly #cache: KeyCache
  readonly #managers: KeyCache | null
  readonly #limiter: RateLimiter
  readonly #guard: IpGuard
  readonly #adminDigest: Buffer | null
  readonly #shared: NonNullable<AccessOptions['shared']>
  readonly #actors = new WeakMap<IncomingMessage, string>()
  readonly #scopes = new WeakMap<IncomingMessage, ReadonlySet<AdminScope>>()
  readonly #tokens = new WeakMap<IncomingMessage, AdminToken>()
  readonly #sessions = new WeakMap<IncomingMessage, ConsoleSession>()

  constructor(options: AccessOptions) {
    const { adminToken, clock, keys, managementKeys, settings } = options
    if (adminToken !== null && adminToken.length < ADMIN_TOKEN_LENGTH_MIN) {
      throw new Error(
        `TOLLGATE_ADMIN_TOKEN has ${adminToken.length} characters, at least ${ADMIN_TOKEN_LENGTH_MIN} are needed`,
      )
    }
    this.#options = options
    this.#shared = options.shared ?? ALONE
    this.#clock = clock
    this.#cache = new KeyCache({ keys, clock })
    this.#managers = managementKeys === undefined ? null : new KeyCache({ keys: managementKeys, clock })
    this.#limiter = new RateLimiter(clock, options.shared)
    this.bounds = new Bounds(this.#limiter)
    this.#guard = new IpGuard({ clock, settings: () => settings().ipBlock })
    this.#adminDigest = adminToken === null ? null : digestOf(adminToken)
  }

  admit(
    request: IncomingMessage,
    plane: AccessPlane,
    clientIp: string,
  ): AccessResult<Principal> | Promise<AccessResult<Principal>> {
    switch (plane) {
      case 'key':
      case 'any_key':
        return this.#admitKey(request, plane, clientIp)
      case 'management':
        return this.#changing(request, this.#admitKey(request, plane, clientIp))
      case 'session':
        return this.#changing(request, this.#admitSession(request))
      case 'playground':
        return this.#admitPlayground(request, clientIp)
      default:
        return this.#changing(request, this.#admitAdmin(request, plane))
    }
  }

  sessionOf(request: IncomingMessage): ConsoleSession {
    const found = this.#sessions.get(request)
    if (found === undefined) throw new Error('A route of the session plane has a session.')
    return found
  }

  blocks(): readonly { readonly ip: string; readonly untilMs: number; readonly times: number }[] {
    return this.#guard.blocks()
  }

  async unblock(ip: string): Promise<boolean> {
    const key = this.#guard.keyOf(ip)
    // The store comes first: a block that cannot be lifted everywhere is not lifted here either.
    await this.#shared.unblocked(key)
    await this.#shared.guard?.unblock(key)
    return this.#guard.unblock(key)
  }

  anonymousHeaders(clientIp: string): Readonly<Record<string, string>> {
    return this.#guard.headers(clientIp)
  }

  actorOf(request: IncomingMessage): string | null {
    return this.#actors.get(request) ?? null
  }

  scopesOf(request: IncomingMessage): ReadonlySet<AdminScope> {
    return this.#scopes.get(request) ?? NO_SCOPES
  }

  adminTokenOf(request: IncomingMessage): AdminToken | null {
    return this.#tokens.get(request) ?? null
  }

  hasSession(request: IncomingMessage): boolean {
    return this.#sessions.has(request)
  }

  invalidate(changed: ChangedRows): void {
    this.#cache.invalidate(changed)
    this.#managers?.invalidate(changed)
  }

  async close(): Promise<void> {
    await this.#managers?.flush()
    await this.#cache.flush()
  }

  block(ip: string, leftMs: number, blocks: number): void {
    if (blocks === 0) this.#guard.unblock(ip)
    else this.#guard.adopt(ip, leftMs, blocks)
  }

  tellWindows(): Promise<void> {
    return this.#limiter.tell()
  }

  /**
   * Every method that is not safe may make events and rows, whose number no price limits. So the changes of an account
   * are counted per minute, whoever acts for it, and so are those of a caller of the admin API.
   */
  async #changing(
    request: IncomingMessage,
    admitted: AccessResult<Principal> | Promise<AccessResult<Principal>>,
  ): Promise<AccessResult<Principal>> {
    const result = await admitted
    if ('error' in result || isSafeMethod(request.method)) return result
    const error = await this.#changeRefusal(request, result.principal)
    return error === null ? result : { error, headers: result.headers }
  }

  #changeRefusal(request: IncomingMessage, principal: Principal | null): Promise<ApiError | null> {
    if (principal !== null) return this.bounds.refusal('changes', principal.accountId, OWNERS_CHANGES)
    if (this.#scopes.has(request)) return this.bounds.refusal('admin_changes', this.#actors.get(request) ?? '')
    const { user, membership } = this.sessionOf(request)
    // A person without an account of their own there is counted by their user id.
    if (membership === null || membership.role === 'viewer') return this.bounds.refusal('changes', user.id)
    return this.bounds.refusal('changes', membership.accountId, membership.role === 'owner' ? 0 : OWNERS_CHANGES)
  }

  /**
   * IP block → key → rate (wire.md 7.3). For a blocked address only keys that have worked from it before are checked.
   */
  #admitKey(
    request: IncomingMessage,
    plane: 'key' | 'management' | 'any_key',
    ip: string,
  ): AccessResult<Principal> | Promise<AccessResult<Principal>> {
    const blockedSeconds = this.#guard.blockedSeconds(ip)
    const token = presentedKey(request)
    const manages = typeof token === 'string' && isManagementKey(token)
    const digest = typeof token === 'string' && isWellFormed(token) && !isAdminToken(token) ? digestText(token) : null
    const cache = manages ? this.#managers : this.#cache
    if (blockedSeconds > 0 && (digest === null || !this.#guard.isProven(ip, digest)))
      return this.#stopped(ip, cache, digest, blockedSeconds)
    if (token === null) return this.#unauthenticated(ip, missingKey())
    if (token === DIFFERENT_KEYS) return this.#unauthenticated(ip, differentKeys())
    if (digest === null || cache === null) return this.#unauthenticated(ip, invalidKey())
    // The prefix decides, so that no key is looked up for a route that it cannot use.
    if (plane !== 'any_key' && manages !== (plane === 'management')) return this.#refused(ip, wrongKind(manages))
    return this.#look(cache, digest, ip)
  }

  /** For a blocked address: the key may have worked from it on another node. */
  #stopped(
    ip: string,
    cache: KeyCache | null,
    digest: string | null,
    seconds: number,
  ): AccessResult<Principal> | Promise<AccessResult<Principal>> {
    const { guard } = this.#shared
    if (digest === null || cache === null || guard?.available !== true) return this.#refused(ip, blockedError(seconds))
    return guard
      .isProven(ipKey(ip), digest)
      .then((proven) => (proven ? this.#look(cache, digest, ip) : this.#refused(ip, blockedError(seconds))))
  }

  #look(cache: KeyCache, digest: string, ip: string): AccessResult<Principal> | Promise<AccessResult<Principal>> {
    const known = cache.find(digest)
    return known instanceof Promise ? known.then((late) => this.#judge(late, ip)) : this.#judge(known, ip)
  }

  #judge(known: KnownKey | null, ip: string): AccessResult<Principal> | Promise<AccessResult<Principal>> {
    if (known === null) return this.#unauthenticated(ip, invalidKey())
    const refusal = refusalOf(known, this.#clock.now(), ip)
    if (refusal !== null) return { ...this.#refused(ip, refusal), refused: known.principal }
    if (known.provenIp === ip && this.#clock.monotonic() - known.provenAtMs <= PROVE_EVERY_MS) return this.#count(known)
    const { guard } = this.#shared
    if (guard?.available === true && known.provenIp !== ip) return this.#proveShared(guard, known, ip)
    return this.#prove(known, ip)
  }

  /** The first use from an address on this node: another node may have blocked it, or know the key from there. */
  async #proveShared(guard: SharedGuard, known: KnownKey, ip: string): Promise<AccessResult<Principal>> {
    const key = ipKey(ip)
    const block = await guard.blocked(key)
    if (block === null || block.leftMs <= 0 || (await guard.isProven(key, known.digest))) return this.#prove(known, ip)
    this.#adoptShared(key, block.leftMs, block.blocks)
    return this.#refused(ip, blockedError(Math.ceil(block.leftMs / 1_000)))
  }

  /**
   * A block that is new to this node also goes to the store. If the node that began it got the answer too late, it
   * reported the block to nobody, and no operator would see it.
   */
  #adoptShared(key: string, leftMs: number, blocks: number): void {
    if (this.#guard.adopt(key, leftMs, blocks)) this.#shared.blocked(key, leftMs, blocks)
  }

  #prove(known: KnownKey, ip: string): AccessResult<Principal> | Promise<AccessResult<Principal>> {
    this.#guard.prove(ip, known.digest)
    this.#shared.guard?.prove(ipKey(ip), known.digest)
    known.provenIp = ip
    known.provenAtMs = this.#clock.monotonic()
    return this.#count(known)
  }

  #count({ principal }: KnownKey): AccessResult<Principal> | Promise<AccessResult<Principal>> {
    const decision = this.#limiter.take(principal.accountId, principal.rateLimit ?? this.#options.settings().rateLimit)
    return decision instanceof Promise
      ? decision.then((late) => this.#counted(principal, late))
      : this.#counted(principal, decision)
  }

  #counted(principal: Principal, decision: RateDecision): AccessResult<Principal> {
    const headers = rateHeaders(decision)
    if (!decision.allowed) return { error: tooManyRequests(decision.retryAfterSeconds), headers, refused: principal }
    const cache = principal.isManagement === true ? this.#managers : this.#cache
    cache?.touch(principal.keyId)
    return { principal, headers }
  }

  #unauthenticated(ip: string, error: ApiError): AccessResult<Principal> | Promise<AccessResult<Principal>> {
    const { guard } = this.#shared
    if (guard?.available === true) return this.#failShared(guard, ip, error)
    this.#failHere(ip)
    return this.#refused(ip, error)
  }

  /** All nodes together answer no more 401s than the rule allows, so the shared count decides about this attempt. */
  async #failShared(guard: SharedGuard, ip: string, error: ApiError): Promise<AccessResult<Principal>> {
    const { failures, window, duration } = this.#options.settings().ipBlock
    const key = ipKey(ip)
    const outcome = await guard.fail(key, { failures, windowMs: window * 1_000, durationMs: duration * 1_000 })
    if (outcome === null) {
      this.#failHere(ip)
      return this.#refused(ip, error)
    }
    const { wasBlocked, leftMs, blocks } = outcome
    if (leftMs > 0) this.#adoptShared(key, leftMs, blocks)
    return this.#refused(ip, wasBlocked ? blockedError(Math.ceil(leftMs / 1_000)) : error)
  }

  #failHere(ip: string): void {
    const block = this.#guard.fail(ip)
    if (block !== null) this.#shared.blocked(ipKey(ip), block.leftMs, block.blocks)
  }

  #refused(ip: string, error: ApiError): AccessResult<Principal> {
    return { error, headers: this.#guard.headers(ip) }
  }

  /**
   * The planes are separate: an API key never opens the admin API, whatever its account may do (guarantees.md
   * requirement 7).
   */
  #admitAdmin(request: IncomingMessage, scope: AdminScope): AccessResult<Principal> | Promise<AccessResult<Principal>> {
    const { authorization } = request.headers
    const token = bearer(authorization)
    if (token?.startsWith(KEY_PREFIX) === true || token?.startsWith(MANAGEMENT_PREFIX) === true) {
      return { error: new ApiError('access_denied', 'This key has no access to the admin API'), headers: NO_HEADERS }
    }
    // Digests have one length, as the constant-time comparison requires, and hide the token's length.
    if (token !== null && this.#adminDigest !== null && timingSafeEqual(digestOf(token), this.#adminDigest)) {
      return this.#admitScoped(request, scope, 'token', ROLE_SCOPES.owner)
    }
    if (token !== null && isAdminToken(token)) return this.#admitToken(request, scope, token)
    if (authorization !== undefined || request.headers.cookie === undefined) return refusal(unauthorized())
    return this.#admitAdministrator(request, scope)
  }

  /** The one place where the scope of a route is enforced. */
  #admitScoped(
    request: IncomingMessage,
    scope: AdminScope,
    actor: string,
    scopes: ReadonlySet<AdminScope>,
  ): AccessResult<Principal> {
    if (!scopes.has(scope)) return refusal(reasonError('scope_needed', { scope }))
    this.#actors.set(request, actor)
    this.#scopes.set(request, scopes)
    return ADMITTED
  }

  async #admitToken(request: IncomingMessage, scope: AdminScope, text: string): Promise<AccessResult<Principal>> {
    const { adminTokens } = this.#options
    // The checksum rejects guesses without a look-up.
    if (adminTokens === undefined || !isWellFormed(text)) return refusal(unauthorized())
    const token = await adminTokens.findByDigest(digestOf(text))
    const nowMs = this.#clock.now()
    if (token === null || token.revokedAtMs !== null || (token.expiresAtMs !== null && token.expiresAtMs <= nowMs))
      return refusal(unauthorized())
    if (nowMs - (token.lastUsedAtMs ?? 0) >= TOUCH_MS) await adminTokens.touch(token.id, nowMs)
    this.#tokens.set(request, token)
    return this.#admitScoped(request, scope, `token:${token.name}`, new Set(token.scopes))
  }

  async #admitAdministrator(request: IncomingMessage, scope: AdminScope): Promise<AccessResult<Principal>> {
    const found = await this.#options.session(request)
    if (found === null) return refusal(unauthorized())
    if (!isSafeMethod(request.method) && !isSameOrigin(request)) return refusal(reasonError('foreign_page'))
    const { user } = found
    if (user.role !== 'admin') return refusal(reasonError('only_administrators'))
    if (this.#options.adminTotpRequired && !user.totpEnabled) return refusal(reasonError('totp_needed'))
    this.#sessions.set(request, found)
    return this.#admitScoped(request, scope, user.email, ROLE_SCOPES[user.operatorRole ?? 'read_only'])
  }

  /** The planes are separate: keys and tokens never open the cabinet. */
  async #admitSession(request: IncomingMessage): Promise<AccessResult<Principal>> {
    if (request.headers.authorization !== undefined)
      return refusal(
        reasonError(
          'sign_in_first',
          {},
          { says: 'The cabinet is opened by signing in, not by a key', error: 'access_denied' },
        ),
      )
    const found = await this.#options.session(request)
    if (found === null) return refusal(reasonError('sign_in_first'))
    if (!isSafeMethod(request.method) && !isSameOrigin(request)) return refusal(reasonError('foreign_page'))
    this.#sessions.set(request, found)
    this.#actors.set(request, found.user.email)
    return ADMITTED
  }

  /** The user's session acts for one of the user's own keys, with the limits of the key and of its account. */
  async #admitPlayground(request: IncomingMessage, ip: string): Promise<AccessResult<Principal>> {
    const result = await this.#admitSession(request)
    if ('error' in result) return result
    const keyId = playgroundKey(request)
    const owner = keyId === null ? null : await this.#options.keys.findOwner(keyId)
    const { user, membership } = this.sessionOf(request)
    const scopes = membership === null ? NO_MEMBER_SCOPES : MEMBER_ROLE_SCOPES[membership.role]
    if (membership !== null && !scopes.has('playground'))
      return refusal(reasonError('role_needed', { role: membership.role }))
    const isVisible = scopes.has('keys:all') || owner?.key.madeBy === user.id
    if (owner === null || owner.account.id !== membership?.accountId || !isVisible)
      return refusal(fieldError('X-Tollgate-Key-Id', 'own_key'))
    const known = knownKey('', owner, { readAtMs: this.#clock.monotonic(), readAtChange: null })
    const refused = refusalOf(known, this.#clock.now(), ip)
    if (refused !== null) return { ...refusal(refused), refused: known.principal }
    // The session spends by the key but reaches the person's own things: an owner cannot read what a member has stored.
    const { person: _ofTheKey, ...terms } = known.principal
    const principal: Principal = membership.role === 'owner' ? terms : { ...terms, person: user.id }
    const decision = await this.#limiter.take(
      principal.accountId,
      principal.rateLimit ?? this.#options.settings().rateLimit,
    )
    const headers = rateHeaders(decision)
    if (!decision.allowed) return { error: tooManyRequests(decision.retryAfterSeconds), headers, refused: principal }
    this.#cache.touch(principal.keyId)
    return { principal, headers }
  }
}

function refusal(error: ApiError): AccessResult<Principal> {
  return { error, headers: NO_HEADERS }
}

/** The key's id: a header, which another site cannot send, or the query for a file that the browser itself loads. */
function playgroundKey(request: IncomingMessage): string | null {
  const header = request.headers['x-tollgate-key-id']
  if (typeof header === 'string') return header
  const url = request.url ?? ''
  const queryAt = url.indexOf('?')
  return isSafeMethod(request.method) && queryAt !== -1
    ? new URLSearchParams(url.slice(queryAt + 1)).get('key_id')
    : null
}

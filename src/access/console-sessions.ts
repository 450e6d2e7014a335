import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Cipher } from '../base/cipher.ts'
import type { Clock } from '../base/clock.ts'
import type { ApiError } from '../base/errors.ts'
import type { IdSource } from '../base/ids.ts'
import { reasonError } from '../base/refusals.ts'
import { HOUR_MS } from '../base/time.ts'
import { type Place, currentPlace } from '../store/people/member-store.ts'
import { covers, ROLE_SCOPES, VIEW_SCOPES } from '../tables/scopes.ts'
import type { SessionRecord, SessionStore } from '../store/people/sign-in-store.ts'
import type { UserRecord } from '../store/people/user-store.ts'

const PURPOSE = 'console/known-device/v1'
const KEEP_SECONDS = 180 * 86_400
const ID_LETTERS = 22
/** The most users remembered for one browser; the one seen longest ago is dropped. */
const USERS_MAX = 8

/** Idle and absolute limits of guarantees.md requirement 8. */
const LIMITS = {
  user: { idleMs: 12 * HOUR_MS, absoluteMs: 7 * 24 * HOUR_MS },
  admin: { idleMs: HOUR_MS / 2, absoluteMs: 12 * HOUR_MS },
} as const
/** A session's last use is written at most this often: far below the shortest idle limit. */
const TOUCH_MS = 60_000
const TOKEN_BYTES = 32
const DEVICE_COOKIE = 'tg_device'
/** Every way of signing in is below this path. */
const DEVICE_PATH = '/cabinet/v1/'
export const TOKEN_SHAPE = /^[A-Za-z0-9_-]{43}$/
const USER_AGENT_MAX = 300

/** The user behind a console request. */
export interface ConsoleSession {
  readonly user: UserRecord
  readonly session: SessionRecord
  /** The account that the user acts for; null = the user has none. */
  readonly membership: Place | null
}

export interface ConsoleSessionPorts extends KnownDevicePorts {
  readonly store: SessionStore
  /** Whether the console is reached over https. */
  readonly isSecure: (request: IncomingMessage) => boolean
  readonly adminTotpRequired: boolean
}

/**
 * Sessions of the console, stored only by the hash of their cookie. Nothing is cached, so a session that has ended
 * gives no access on any node.
 */
export class ConsoleSessions {
  readonly #ports: ConsoleSessionPorts
  readonly #devices: KnownDevices

  constructor(ports: ConsoleSessionPorts) {
    this.#ports = ports
    this.#devices = new KnownDevices(ports)
  }

  /**
   * Opens a session with a new id; returns its `Set-Cookie`, and one that marks the browser as known. The request's
   * previous session ends: an id from before the sign-in is never reused.
   */
  async open(
    user: UserRecord,
    request: IncomingMessage,
    ip: string,
    accountId: string | null = null,
  ): Promise<{ readonly session: SessionRecord; readonly cookies: readonly string[] }> {
    const before = this.#token(request)
    if (before !== null) await this.#ports.store.delete(tokenHash(before))
    const token = randomBytes(TOKEN_BYTES).toString('base64url')
    const nowMs = this.#ports.clock.now()
    const { idleMs, absoluteMs } = LIMITS[user.role]
    const session: SessionRecord = {
      hash: tokenHash(token),
      id: `ses_${this.#ports.ids.letters(16)}`,
      userId: user.id,
      accountId,
      ip,
      userAgent: userAgentOf(request),
      createdAtMs: nowMs,
      lastSeenAtMs: nowMs,
      idleMs,
      endsAtMs: nowMs + absoluteMs,
    }
    await this.#ports.store.create(session)
    return {
      session,
      cookies: [this.#cookie(request, token, Math.floor(absoluteMs / 1_000)), this.#deviceCookie(user, request)],
    }
  }

  async find(request: IncomingMessage): Promise<ConsoleSession | null> {
    const token = this.#token(request)
    if (token === null) return null
    const nowMs = this.#ports.clock.now()
    const found = await this.#ports.store.find(tokenHash(token), nowMs)
    if (found === null) return null
    const { user, session, memberships } = found
    const membership = currentPlace(memberships, session.accountId, this.mayView(user))
    if (nowMs - session.lastSeenAtMs < TOUCH_MS) return { user, session, membership }
    await this.#ports.store.touch(session.hash, nowMs)
    return { user, session: { ...session, lastSeenAtMs: nowMs }, membership }
  }

  /** Whether the user may look at accounts that are not theirs, as an operator. */
  mayView({ operatorRole, totpEnabled }: UserRecord): boolean {
    if (operatorRole === null || (this.#ports.adminTotpRequired && !totpEnabled)) return false
    return covers(ROLE_SCOPES[operatorRole], VIEW_SCOPES)
  }

  /** The browser's id if this user has signed in from it before; else null. */
  deviceOf(user: UserRecord, request: IncomingMessage): string | null {
    return this.#devices.idFor(request, DEVICE_COOKIE, user.id)
  }

  /** The `Set-Cookie` that deletes the session's cookie. */
  forget(request: IncomingMessage): string {
    return this.#cookie(request, '', 0)
  }

  /**
   * `__Host-` requires https, and a browser refuses a Secure cookie on plain http. Only the name in force is read: a
   * cookie with the other name could be planted.
   */
  #name(request: IncomingMessage): string {
    return this.#ports.isSecure(request) ? '__Host-tg_sid' : 'tg_sid'
  }

  #cookie(request: IncomingMessage, value: string, maxAgeSeconds: number): string {
    return `${this.#name(request)}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}${this.#ports.isSecure(request) ? '; Secure' : ''}`
  }

  #deviceCookie(user: UserRecord, request: IncomingMessage): string {
    const { value, maxAgeSeconds } = this.#devices.remember(request, DEVICE_COOKIE, user.id)
    return `${DEVICE_COOKIE}=${value}; Path=${DEVICE_PATH}; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}${this.#ports.isSecure(request) ? '; Secure' : ''}`
  }

  #token(request: IncomingMessage): string | null {
    const token = cookieOf(request, this.#name(request))
    return token !== null && TOKEN_SHAPE.test(token) ? token : null
  }
}

/** Short printable text for the list of sessions. */
export function userAgentOf(request: IncomingMessage): string {
  return (request.headers['user-agent'] ?? '').replaceAll(/[^\x20-\x7e]/g, '').slice(0, USER_AGENT_MAX)
}

/** The only form in which the store holds a token of a session, an invitation or a set-up link. */
export function tokenHash(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

interface Device {
  readonly id: string
  /** Users who signed in from the browser, the latest first. */
  readonly userIds: readonly string[]
  readonly untilMs: number
}

interface KnownDevicePorts {
  readonly cipher: Cipher
  readonly clock: Clock
  readonly ids: IdSource
}

/**
 * Browsers that somebody has signed in from, recognised by an encrypted cookie. The cookie opens nothing; it only
 * prevents strangers who guess passwords elsewhere from locking the user out.
 */
class KnownDevices {
  readonly #ports: KnownDevicePorts

  constructor(ports: KnownDevicePorts) {
    this.#ports = ports
  }

  /** The device's id if this user has signed in from it; else null. */
  idFor(request: IncomingMessage, cookieName: string, userId: string): string | null {
    const device = this.#read(request, cookieName)
    return device !== null && device.userIds.includes(userId) ? device.id : null
  }

  /** The cookie's value that makes the browser known for this user too, and its lifetime. */
  remember(
    request: IncomingMessage,
    cookieName: string,
    userId: string,
  ): { readonly value: string; readonly maxAgeSeconds: number } {
    const { cipher, clock, ids } = this.#ports
    const before = this.#read(request, cookieName)
    const userIds = [userId, ...(before?.userIds ?? []).filter((id) => id !== userId)].slice(0, USERS_MAX)
    const device: Device = {
      id: before?.id ?? `dev_${ids.letters(ID_LETTERS)}`,
      userIds,
      untilMs: clock.now() + KEEP_SECONDS * 1_000,
    }
    return {
      value: cipher.encrypt(Buffer.from(JSON.stringify(device)), PURPOSE).toString('base64url'),
      maxAgeSeconds: KEEP_SECONDS,
    }
  }

  #read(request: IncomingMessage, cookieName: string): Device | null {
    const text = cookieOf(request, cookieName)
    if (text === null) return null
    try {
      // Only `remember` encrypts with this cipher.
      const device = JSON.parse(
        this.#ports.cipher.decrypt(Buffer.from(text, 'base64url'), PURPOSE).toString('utf8'),
      ) as Device
      return device.untilMs > this.#ports.clock.now() ? device : null
    } catch {
      // A forged, cut or undecryptable cookie counts as none.
      return null
    }
  }
}

/** OWASP's check of fetch metadata, with Origin for browsers that do not send it (guarantees.md requirement 9). */
export function isSameOrigin(request: IncomingMessage): boolean {
  const site = request.headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  const { origin, host } = request.headers
  return origin !== undefined && host !== undefined && (origin === `https://${host}` || origin === `http://${host}`)
}

export function isSafeMethod(method: string | undefined): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** For routes that need no session but accept requests only from our own pages. */
export function originRefusal(request: IncomingMessage): ApiError | null {
  return isSafeMethod(request.method) || isSameOrigin(request) ? null : reasonError('foreign_page')
}

export function cookieOf(request: IncomingMessage, wanted: string): string | null {
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const equals = pair.indexOf('=')
    if (equals !== -1 && pair.slice(0, equals).trim() === wanted) return pair.slice(equals + 1).trim()
  }
  return null
}

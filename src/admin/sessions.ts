import { argon2, createHash, randomBytes, type Argon2Parameters } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { ApiError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import type { IdSource } from '../lib/ids.ts'
import type { AdministratorStore, EventStore } from '../store/store.ts'

const SETUP_MS = 3_600_000
const SESSION_MS = 12 * 3_600_000
const TOKEN_BYTES = 32
const SALT_BYTES = 16
const TOKEN_SHAPE = /^[A-Za-z0-9_-]{43}$/
const HASHES_MAX = 2
const PASSWORD_LENGTH = { least: 12, most: 128 }
/** `__Host-` needs https; a console on plain http at loopback uses the bare name. */
const COOKIES = ['__Host-tg_sid', 'tg_sid'] as const
/** OWASP's argon2id setting: 19 MiB, two passes, one lane. */
const ARGON2 = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 }

export interface SessionPorts {
  readonly store: AdministratorStore
  readonly events: Pick<EventStore, 'append'>
  readonly clock: Clock
  readonly ids: IdSource
}

/** Administrators of the console: set-up links, passwords and sessions. Tokens are stored hashed alone. */
export class AdminSessions {
  readonly #ports: SessionPorts
  #hashing = 0

  constructor(ports: SessionPorts) {
    this.#ports = ports
  }

  /** A one-time token for the first administrator; null once there is one. */
  async firstSetupToken(): Promise<string | null> {
    return (await this.#ports.store.count()) > 0 ? null : this.#setupToken(null)
  }

  /** An administrator without a password, and the token that lets them choose one. A link that was never used may be asked for again. */
  async invite(email: string): Promise<{ readonly id: string; readonly email: string; readonly token: string }> {
    checkEmail(email)
    const created = await this.#ports.store.create({ id: `adm_${this.#ports.ids.letters(16)}`, email, passwordHash: null, createdAtMs: this.#ports.clock.now() })
    const administrator = created ?? (await this.#ports.store.findByEmail(email))
    if (administrator === null || administrator.passwordHash !== null) throw new ApiError('conflict', `An administrator with the e-mail '${email}' exists`)
    return { id: administrator.id, email, token: await this.#setupToken(administrator.id) }
  }

  /** Uses up a set-up token: creates the first administrator, or gives an invited one their password. Answers a session token. */
  async setUp({ token, email, password, ip }: { readonly token: string; readonly email: string; readonly password: string; readonly ip: string }): Promise<string> {
    checkPassword(password)
    checkEmail(email)
    // The link is proven before the password is hashed: a stranger must not be able to make the server work.
    const claim = TOKEN_SHAPE.test(token) ? await this.#ports.store.claimSetupToken(tokenHash(token), this.#ports.clock.now()) : null
    if (claim === null) throw new ApiError('access_denied', 'This set-up link is used, expired or unknown. Start the server again, or run tollgate admin create, for a new one')
    const passwordHash = await this.#hash(password)
    const administratorId = claim.administratorId ?? (await this.#first(email, passwordHash))
    if (claim.administratorId !== null) await this.#ports.store.setPassword(administratorId, passwordHash)
    await this.#ports.events.append({ atMs: this.#ports.clock.now(), actor: administratorId, ip, action: 'administrator.setup', object: administratorId, before: null, after: null })
    const session = randomBytes(TOKEN_BYTES).toString('base64url')
    await this.#ports.store.createSession({ hash: tokenHash(session), administratorId, expiresAtMs: this.#ports.clock.now() + SESSION_MS })
    return session
  }

  /** Who the session of a request belongs to. A changing request must come from our own page (reliability.md 4 row 9). */
  async nameOf(request: IncomingMessage): Promise<string | null> {
    const token = sessionCookie(request)
    if (token === null || !isSameOrigin(request)) return null
    const administrator = await this.#ports.store.findSession(tokenHash(token), this.#ports.clock.now())
    return administrator?.email ?? null
  }

  async #first(email: string, passwordHash: string): Promise<string> {
    if ((await this.#ports.store.count()) > 0) throw new ApiError('access_denied', 'There is an administrator already')
    const id = `adm_${this.#ports.ids.letters(16)}`
    const created = await this.#ports.store.create({ id, email, passwordHash, createdAtMs: this.#ports.clock.now() })
    if (created === null) throw new ApiError('conflict', `An administrator with the e-mail '${email}' exists`)
    return id
  }

  async #setupToken(administratorId: string | null): Promise<string> {
    const token = randomBytes(TOKEN_BYTES).toString('base64url')
    await this.#ports.store.putSetupToken({ hash: tokenHash(token), administratorId, expiresAtMs: this.#ports.clock.now() + SETUP_MS })
    return token
  }

  /** At most two at once: each takes 19 MiB and a core for a while. */
  async #hash(password: string): Promise<string> {
    if (this.#hashing >= HASHES_MAX) throw new ApiError('service_unavailable', 'Service is overloaded or its store is not available. Retry after 2 seconds', { retryAfterSeconds: 2 })
    this.#hashing += 1
    try {
      const salt = randomBytes(SALT_BYTES)
      return `argon2id$${salt.toString('base64')}$${(await derive(password, salt)).toString('base64')}`
    } finally {
      this.#hashing -= 1
    }
  }
}

function derive(password: string, nonce: Buffer): Promise<Buffer> {
  const parameters: Argon2Parameters = { message: password, nonce, ...ARGON2 }
  return new Promise((resolve, reject) => {
    argon2('argon2id', parameters, (error, key) => (error === null ? resolve(Buffer.from(key)) : reject(error)))
  })
}

function checkPassword(password: string): void {
  const { least, most } = PASSWORD_LENGTH
  if (password.length < least || password.length > most) throw new ApiError('invalid_input', `password: must have ${least} to ${most} characters, got ${password.length}`)
}

function checkEmail(email: string): void {
  if (!/^[^\s@]{1,64}@[^\s@]{1,190}$/.test(email)) throw new ApiError('invalid_input', `email: '${email.slice(0, 80)}' is not an e-mail address`)
}

function tokenHash(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

function sessionCookie(request: IncomingMessage): string | null {
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const [name, value] = pair.trim().split('=')
    if (value !== undefined && COOKIES.some((cookie) => cookie === name)) return value
  }
  return null
}

function isSameOrigin(request: IncomingMessage): boolean {
  if (request.method === 'GET' || request.method === 'HEAD') return true
  const site = request.headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  const origin = request.headers.origin
  return origin !== undefined && URL.canParse(origin) && new URL(origin).host === request.headers.host
}

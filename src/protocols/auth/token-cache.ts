import { lookup } from 'node:dns'
import type { Agent } from 'undici'
import { isAmbient, type ProviderAuth } from '../../catalog/auth.ts'
import type { Provider } from '../../catalog/catalog.ts'
import { keyHeaders } from '../../catalog/dialect.ts'
import type { Clock } from '../../base/clock.ts'
import type { Environment } from '../../base/setting-reader.ts'
import { failure, type AttemptFailure } from '../ports/attempt-failure.ts'
import { patientAgent, UpstreamAgents } from '../wire/connections.ts'
import { bedrockSignature } from '../wire/aws-signature.ts'
import { LEAST_LEFT_MS, TokenError, type Token } from './token-http.ts'
import { newToken } from './token-sources.ts'

/** The part of a token's life after which a new one is requested, and how much later a node may do so. */
const REFRESH_AT = 0.8
const REFRESH_SPREAD = 0.1
/** After a failure, no request is made for this time, unless a token is refused. */
const REST_MS = 5_000
const CONNECT_MS = 3_000
const TOKENS_MAX = 1_000
const ISSUED_MAX = 4

/** Tokens that nodes share, by the print of an `auth`. */
export interface TokenShare {
  /** null = there is none, or Valkey does not answer. */
  read(print: string): Promise<Token | null>
  write(print: string, token: Token): Promise<void>
}

export interface TokenPorts {
  readonly clock: Clock
  readonly env: Environment
  readonly random: () => number
  /** Absent or null = nothing is shared. */
  readonly share?: TokenShare | null
}

interface Held {
  token: Token | null
  /** The last token that the provider refused. */
  refused: string | null
  /** Unix ms from which a new token is requested. */
  refreshAtMs: number
  /** The one request under way. */
  running: Promise<Token | AttemptFailure> | null
  /** clock.monotonic() until which a failure is not tried again. */
  restsUntilMs: number
  failure: AttemptFailure | null
}

/** A provider with an `auth`. */
export type Authorized = Provider & { readonly auth: ProviderAuth }

/**
 * Tokens of providers with an `auth`. A token is requested once for all requests of a node, and again before it ends;
 * it is used to its end if no new one can be obtained. Nodes share tokens, except those of the machine itself.
 */
export class TokenCache {
  readonly #ports: TokenPorts
  readonly #held = new Map<string, Held>()
  readonly #agents = new UpstreamAgents(CONNECT_MS)
  /** Used only for the addresses of an ambient `auth`, which no row names. */
  readonly #machine: Agent = patientAgent({ timeout: CONNECT_MS, lookup })
  readonly #stop = new AbortController()

  constructor(ports: TokenPorts) {
    this.#ports = ports
  }

  /** A token that is valid now, or the failure; it is a promise only if a token must be waited for. */
  get(provider: Authorized): Token | AttemptFailure | Promise<Token | AttemptFailure> {
    const { auth } = provider
    if (auth.refusal !== null) return refused(null, auth.refusal)
    const held = this.#of(auth.print)
    const nowMs = this.#ports.clock.now()
    if (held.token !== null && nowMs < held.token.endsAtMs - LEAST_LEFT_MS) {
      if (nowMs >= held.refreshAtMs && held.running === null && !this.#rests(held)) void this.#renew(provider, held)
      return issuedTo(auth, held.token)
    }
    if (held.failure !== null && this.#rests(held)) return held.failure
    held.running ??= this.#renew(provider, held)
    return held.running
  }

  /** The headers that carry a token, or the signature made with it. */
  headers(
    { auth, dialect, baseUrl }: Authorized,
    { value }: Token,
    { path, body }: { readonly path: string; readonly body: Buffer },
  ): Readonly<Record<string, string>> {
    return auth.entry.type === 'aws'
      ? bedrockSignature(value, baseUrl, path, body, this.#ports.clock.now())
      : keyHeaders(dialect, value)
  }

  /** The provider refused a token: neither this node nor another uses it again. */
  refused(provider: Authorized, value: string): void {
    const held = this.#of(provider.auth.print)
    if (held.token?.value !== value) return
    held.token = null
    held.refused = value
    held.restsUntilMs = 0
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await Promise.all([this.#agents.destroy(), this.#machine.destroy()])
  }

  #of(print: string): Held {
    let held = this.#held.get(print)
    if (held !== undefined) return held
    const [oldest] = this.#held.keys()
    if (this.#held.size >= TOKENS_MAX && oldest !== undefined) this.#held.delete(oldest)
    held = { token: null, refused: null, refreshAtMs: 0, running: null, restsUntilMs: 0, failure: null }
    this.#held.set(print, held)
    return held
  }

  #rests({ restsUntilMs }: Held): boolean {
    return this.#ports.clock.monotonic() < restsUntilMs
  }

  /** Requests a new token; never rejects. */
  #renew(provider: Authorized, held: Held): Promise<Token | AttemptFailure> {
    held.running = this.#next(provider, held)
      .then((token) => {
        held.token = token
        held.failure = null
        held.refreshAtMs = this.#refreshAtMs(token)
        return issuedTo(provider.auth, token)
      })
      .catch((thrown: unknown) => {
        held.failure = refused(
          thrown instanceof TokenError ? thrown.status : null,
          thrown instanceof Error ? thrown.message : String(thrown),
        )
        held.restsUntilMs = this.#ports.clock.monotonic() + REST_MS
        return held.failure
      })
      .finally(() => {
        held.running = null
      })
    return held.running
  }

  async #next(provider: Authorized, { token: before, refused: dead }: Held): Promise<Token> {
    const { clock, env, share: given } = this.#ports
    const { entry, print } = provider.auth
    const share = isAmbient(entry) ? null : given
    const shared = (await share?.read(print)) ?? null
    // Another node has renewed the token meanwhile, or has one while this node has none.
    const isNew = shared !== null && shared.value !== before?.value && shared.value !== dead
    if (isNew && clock.now() < this.#refreshAtMs(shared)) return shared
    const token = await newToken(entry, {
      clock,
      env,
      toProvider: this.#agents.of(provider),
      toMachine: this.#machine,
      stop: this.#stop.signal,
    })
    await share?.write(print, token)
    return token
  }

  #refreshAtMs({ gotAtMs, endsAtMs }: Token): number {
    return gotAtMs + (endsAtMs - gotAtMs) * (REFRESH_AT + this.#ports.random() * REFRESH_SPREAD)
  }
}

export function isAuthorized(provider: Provider): provider is Authorized {
  return provider.auth !== undefined
}

/** Whether an answer says that the token has ended. AWS says so with a 403. */
export function refusesToken(
  status: number,
  headers: Readonly<Record<string, string | string[] | undefined>>,
): boolean {
  return (
    status === 401 || (status === 403 && /ExpiredToken|UnrecognizedClient/.test(String(headers['x-amzn-errortype'])))
  )
}

/** Whether this is a failure instead of a token. */
export function isRefused(got: Token | AttemptFailure): got is AttemptFailure {
  return 'reason' in got
}

/** Adds the token to those that are redacted in this provider's words. */
function issuedTo({ issued }: ProviderAuth, token: Token): Token {
  if (issued.at(-1) === token.value) return token
  issued.push(token.value)
  if (issued.length > ISSUED_MAX) issued.shift()
  return token
}

/** A failure like that of a refused key; `status` null = the token service did not answer. */
function refused(status: number | null, words: string): AttemptFailure {
  return {
    ...failure('status', 401, `auth: ${words}`),
    refusal: 'credentials',
    said: `auth: ${words}`,
    ...(status === null ? {} : { quotes: true }),
  }
}

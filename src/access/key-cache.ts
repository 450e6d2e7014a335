import { ApiError, overloaded } from '../base/errors.ts'
import type { Clock } from '../base/clock.ts'
import { RecentMap } from '../base/recent-map.ts'
import type { AccountStatus } from '../store/accounts/account-store.ts'
import { type KeyOwner, type KeyStore, countedLimits } from '../store/accounts/key-store.ts'
import { digestBytes } from './api-key.ts'
import { ipList, type IpList } from '../http/client-ip.ts'
import type { Principal } from './principal.ts'
import { isoSeconds } from '../base/time.ts'

/** A revoked key stops within this time on every node, even if no news of it arrives (guarantees.md requirement 2). */
const FRESH_MS = 5_000
/** From this age on a use also starts a look-up in the background, so that a busy key never waits for one. */
const REFRESH_MS = 2_500
const ABSENT_MS = 30_000
/** The most entries; when there are more, at least half of them stay. */
const ENTRIES_MAX = 20_000
const TOUCH_FLUSH_MS = 5_000
/** A stuck database must give a 503 within a second (guarantees.md F2). */
const LOOKUP_MS = 900

/** The cached row of a key. Each request checks its expiry again, since keys expire between look-ups. */
export interface KnownKey {
  readonly digest: string
  readonly principal: Principal
  readonly accountStatus: AccountStatus
  readonly disabled: boolean
  readonly expiresAtMs: number | null
  /** When this secret stops working, since another has replaced it; null = it is the key's own. */
  readonly secretEndsAtMs: number | null
  /** null = the key works from every address. */
  readonly allowedIps: IpList | null
  /** Monotonic ms of the look-up's start. */
  readonly readAtMs: number
  /** The count of changes of keys at that time. */
  readonly readAtChange: number | null
  /** Address and time of the latest success that was reported to the IP guard. */
  provenIp: string
  provenAtMs: number
}

export interface KeyCacheOptions {
  readonly keys: Pick<KeyStore, 'findByDigest' | 'touch' | 'changes'>
  readonly clock: Clock
  readonly entriesMax?: number
}

/** What an administrator changed: a key, an account, or the terms of a group of accounts. */
export type ChangedRows = { readonly keyId: string } | { readonly accountId: string } | { readonly groupId: string }

function concerns(changed: ChangedRows, { keyId, accountId, groupId }: Principal): boolean {
  if ('keyId' in changed) return keyId === changed.keyId
  return 'accountId' in changed ? accountId === changed.accountId : groupId === changed.groupId
}

/**
 * Keys by their full digest. Existing keys are cached for seconds, absent ones longer. Each key has at most one look-up
 * under way.
 */
export class KeyCache {
  readonly #keys: KeyCacheOptions['keys']
  readonly #clock: Clock
  readonly #known: RecentMap<KnownKey>
  /** Digest → monotonic ms until which the key counts as absent. */
  readonly #absent: RecentMap<number>
  readonly #lookups = new Map<string, Promise<KnownKey | null>>()
  readonly #touched = new Set<string>()
  #cancelFlush: (() => void) | null = null
  /** Incremented by each invalidation, so that the result of a look-up that started before it is not cached. */
  #generation = 0

  constructor(options: KeyCacheOptions) {
    this.#keys = options.keys
    this.#clock = options.clock
    const entriesMax = options.entriesMax ?? ENTRIES_MAX
    this.#known = new RecentMap(entriesMax)
    this.#absent = new RecentMap(entriesMax)
  }

  /** null = no such key. Answers without a promise while the cache is fresh. */
  find(digest: string): KnownKey | null | Promise<KnownKey | null> {
    const nowMs = this.#clock.monotonic()
    const known = this.#known.get(digest)
    if (known !== undefined) {
      // If this process is the only writer, nothing has changed since.
      if (known.readAtChange !== null && known.readAtChange === this.#keys.changes) return known
      const ageMs = nowMs - known.readAtMs
      if (ageMs < REFRESH_MS) return known
      const lookup = this.#lookup(digest)
      if (ageMs >= FRESH_MS) return lookup
      // The entry is still good: if the store cannot be reached now, a later request will report it.
      lookup.catch(() => undefined)
      return known
    }
    const absentUntilMs = this.#absent.get(digest)
    if (absentUntilMs !== undefined && nowMs < absentUntilMs) return null
    return this.#lookup(digest)
  }

  /** Forgets the rows that an administrator changed; the next request reads them again. */
  invalidate(changed: ChangedRows): void {
    this.#generation += 1
    this.#lookups.clear()
    for (const [digest, known] of this.#known) {
      if (concerns(changed, known.principal)) this.#known.delete(digest)
    }
  }

  /** Notes that a key was used; the store gets the notes in batches. */
  touch(keyId: string): void {
    this.#touched.add(keyId)
    this.#cancelFlush ??= this.#clock.after(TOUCH_FLUSH_MS, () => void this.flush())
  }

  /** Writes the noted uses. A failure loses only times of use, and no request fails by it. */
  async flush(): Promise<void> {
    this.#cancelFlush?.()
    this.#cancelFlush = null
    if (this.#touched.size === 0) return
    const ids = [...this.#touched]
    this.#touched.clear()
    await this.#keys.touch(ids, this.#clock.now()).catch(() => undefined)
  }

  #lookup(digest: string): Promise<KnownKey | null> {
    const running = this.#lookups.get(digest)
    if (running !== undefined) return running
    const lookup = this.#read(digest).finally(() => {
      if (this.#lookups.get(digest) === lookup) this.#lookups.delete(digest)
    })
    this.#lookups.set(digest, lookup)
    return lookup
  }

  async #read(digest: string): Promise<KnownKey | null> {
    const generation = this.#generation
    const read = { readAtMs: this.#clock.monotonic(), readAtChange: this.#keys.changes }
    const owner = await this.#found(digest).catch((cause: unknown) => {
      throw overloaded(0, 'store', cause)
    })
    const known = owner === null ? null : knownKey(digest, owner, read)
    if (generation === this.#generation) this.#keep(digest, known)
    return known
  }

  #found(digest: string): Promise<KeyOwner | null> {
    const { promise, resolve, reject } = Promise.withResolvers<KeyOwner | null>()
    const stop = this.#clock.after(LOOKUP_MS, () => reject(new Error(`The store did not answer in ${LOOKUP_MS} ms.`)))
    void this.#keys.findByDigest(digestBytes(digest)).then(resolve, reject).finally(stop)
    return promise
  }

  #keep(digest: string, known: KnownKey | null): void {
    const before = this.#known.get(digest)
    this.#absent.delete(digest)
    if (known === null) {
      this.#known.delete(digest)
      this.#absent.set(digest, this.#clock.monotonic() + ABSENT_MS)
      return
    }
    if (before !== undefined) {
      known.provenIp = before.provenIp
      known.provenAtMs = before.provenAtMs
    }
    this.#known.set(digest, known)
  }
}

/** The reason why a known key may not be used now from this address, or null. */
export function refusalOf(known: KnownKey, nowMs: number, ip: string): ApiError | null {
  if (known.expiresAtMs !== null && known.expiresAtMs <= nowMs) {
    return new ApiError('key_expired', `API key expired at ${isoSeconds(known.expiresAtMs)}`)
  }
  if (known.secretEndsAtMs !== null && known.secretEndsAtMs <= nowMs) {
    const endedAt = isoSeconds(known.secretEndsAtMs)
    return new ApiError('key_expired', `API key was replaced, and its old secret ended at ${endedAt}`)
  }
  if (known.disabled) return new ApiError('key_deactivated', 'API key is deactivated')
  if (known.allowedIps?.has(ip) === false)
    return new ApiError('access_denied', `This key may not be used from ${ip}: its allowed_ips do not include it`)
  if (known.accountStatus === 'active') return null
  return known.accountStatus === 'locked'
    ? new ApiError('api_locked', 'API access is blocked for this account')
    : new ApiError('account_deactivated', 'Account is deactivated')
}

/** The facts of a key that authentication checks. */
export function knownKey(
  digest: string,
  owner: KeyOwner,
  { readAtMs, readAtChange }: Pick<KnownKey, 'readAtMs' | 'readAtChange'>,
): KnownKey {
  const { key, account } = owner
  const principal: Principal = Object.freeze({
    accountId: account.id,
    keyId: key.id,
    keyName: key.name,
    keyLabel: key.label,
    limitMicro: key.limitMicro,
    limitReset: key.limitReset,
    allowedModels: intersection(account.allowedModels, key.allowedModels),
    defaultModel: account.defaultModel,
    rateLimit: account.rateLimit,
    limits: countedLimits(key.limits),
    ...(account.groupId === null ? {} : { groupId: account.groupId }),
    ...(account.markup === null ? {} : { markup: account.markup }),
    ...(key.person === null ? {} : { person: key.person }),
    ...(owner.isManagement === true ? { isManagement: true } : {}),
  })
  const { disabled, expiresAtMs } = key
  const { allowedIps = null } = key.limits ?? {}
  return {
    digest,
    principal,
    accountStatus: account.status,
    disabled,
    expiresAtMs,
    secretEndsAtMs: owner.secretEndsAtMs ?? null,
    allowedIps: allowedIps === null ? null : ipList(allowedIps),
    readAtMs,
    readAtChange,
    provenIp: '',
    provenAtMs: 0,
  }
}

function intersection(
  ofAccount: readonly string[] | null,
  ofKey: readonly string[] | null,
): ReadonlySet<string> | null {
  if (ofAccount === null || ofKey === null)
    return ofAccount === null && ofKey === null ? null : new Set(ofAccount ?? ofKey)
  return new Set(ofAccount.filter((model) => ofKey.includes(model)))
}

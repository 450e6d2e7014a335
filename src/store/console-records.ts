import type { HoldRow } from '../ledger/ledger-store.ts'
import type { GenerationStatus } from '../ledger/generation-record.ts'
import type { Micro } from '../money.ts'
import type { IdentityName } from './identity.ts'
import type { GenerationRow, Page } from './store.ts'

export type UserRole = 'user' | 'admin'

export interface LinkedIdentity extends IdentityName {
  /** As the issuer said it when it was linked; null = it did not, or it was linked before that was kept. */
  readonly email: string | null
  readonly linkedAtMs: number | null
}

/** A person who signs in to the console. */
export interface UserRecord {
  readonly id: string
  /** In lower case. */
  readonly email: string
  readonly name: string
  readonly role: UserRole
  /** null only for an invited administrator who never came. */
  readonly accountId: string | null
  readonly passwordHash: string | null
  readonly disabled: boolean
  readonly timezone: string | null
  readonly language: 'en' | 'ru' | null
  readonly theme: 'light' | 'dark' | 'auto'
  readonly oidc: LinkedIdentity | null
  /** Sealed; in use only once it is enabled. */
  readonly totpSeed: Buffer | null
  readonly totpEnabled: boolean
  readonly lastSignInAtMs: number | null
  readonly createdAtMs: number
}

/** `oidc`: linked when the user is made. */
export type NewUser = Pick<
  UserRecord,
  'id' | 'email' | 'name' | 'role' | 'accountId' | 'passwordHash' | 'language' | 'createdAtMs'
> & { readonly oidc: Omit<LinkedIdentity, 'linkedAtMs'> | null }
export type UserPatch = Partial<
  Pick<
    UserRecord,
    'name' | 'role' | 'accountId' | 'passwordHash' | 'disabled' | 'timezone' | 'language' | 'theme' | 'lastSignInAtMs'
  >
>

export interface SetupTokenClaim {
  /** null = makes the first administrator. */
  readonly userId: string | null
  readonly clearTotp: boolean
}

export interface UserStore {
  /** Administrators who can sign in. */
  administrators(): Promise<number>
  /** null = that e-mail is taken. */
  create(user: NewUser): Promise<UserRecord | null>
  get(id: string): Promise<UserRecord | null>
  findByEmail(email: string): Promise<UserRecord | null>
  findByOidc(issuer: string, subject: string): Promise<UserRecord | null>
  list(filter: {
    readonly accountId: string | null
    readonly role: UserRole | null
    readonly query: string | null
    readonly limit: number
    readonly offset: number
  }): Promise<Page<UserRecord>>
  update(id: string, patch: UserPatch): Promise<UserRecord | null>
  /** `taken`: it is another user's; `full`: this user has one already. */
  linkIdentity(id: string, identity: LinkedIdentity): Promise<'linked' | 'taken' | 'full'>
  /** false = the user does not have it any more, or has no password and so no other way in. */
  unlinkIdentity(id: string, identity: IdentityName): Promise<boolean>
  /** Replaces seed and recovery codes (SHA-256 hex); the last used step starts at `step`. */
  setTotp(
    id: string,
    totp: {
      readonly seed: Buffer | null
      readonly enabled: boolean
      readonly step: number
      readonly recoveryHashes: readonly string[]
    },
  ): Promise<void>
  setRecoveryCodes(id: string, hashes: readonly string[]): Promise<void>
  /** false = this step, or a later one, was used before. */
  useTotpStep(id: string, step: number): Promise<boolean>
  useRecoveryCode(id: string, hash: string): Promise<boolean>
  recoveryCodesLeft(id: string): Promise<number>
  /** Every sealed seed, for a new wrapping key. */
  sealedSeeds(): Promise<readonly { readonly id: string; readonly seed: Buffer }[]>
  /** Only where the seed is still the old one. */
  replaceSeed(id: string, before: Buffer, after: Buffer): Promise<void>
  /** Token hashes are SHA-256 hex. */
  putSetupToken(token: {
    readonly hash: string
    readonly userId: string | null
    readonly clearTotp: boolean
    readonly expiresAtMs: number
  }): Promise<void>
  findSetupToken(hash: string, nowMs: number): Promise<SetupTokenClaim | null>
  /** Takes the token out of use in the same step; null = unknown, used or expired. */
  claimSetupToken(hash: string, nowMs: number): Promise<SetupTokenClaim | null>
}

export interface SessionRecord {
  /** SHA-256 hex of the cookie. */
  readonly hash: string
  readonly id: string
  readonly userId: string
  readonly ip: string
  readonly userAgent: string
  readonly createdAtMs: number
  readonly lastSeenAtMs: number
  readonly idleMs: number
  readonly endsAtMs: number
}

export interface SessionStore {
  create(session: SessionRecord): Promise<void>
  /** null = unknown, left alone too long, over, or of a disabled user. */
  find(hash: string, nowMs: number): Promise<{ readonly session: SessionRecord; readonly user: UserRecord } | null>
  touch(hash: string, atMs: number): Promise<void>
  list(userId: string, nowMs: number): Promise<readonly SessionRecord[]>
  delete(hash: string): Promise<boolean>
  deleteById(userId: string, id: string): Promise<boolean>
  /** Ends the user's sessions but one; null = all. */
  deleteOthers(userId: string, exceptHash: string | null): Promise<number>
  /** Forgets ended sessions. */
  prune(nowMs: number): Promise<void>
}

export type SignInMethod = 'password' | 'totp' | 'recovery_code' | 'oidc' | 'setup' | 'sign_up'

export interface SignInRecord {
  readonly id: number
  readonly atMs: number
  readonly email: string
  readonly userId: string | null
  readonly ip: string
  readonly userAgent: string
  readonly method: SignInMethod
  readonly outcome: 'succeeded' | 'failed'
}

/**
 * At most `failures` within `windowMs`. `email_codes`: wrong second factors, which only who has the first can give.
 * `device`: of one browser that its user has signed in from.
 */
export interface SignInRule {
  readonly of: 'email_and_ip' | 'ip' | 'email' | 'email_codes' | 'device'
  readonly failures: number
  readonly windowMs: number
  /** Not for an address from which this e-mail has signed in within so long. */
  readonly knownAddressMs?: number
}

export type SignInStart =
  | { readonly status: 'begun'; readonly id: number }
  | { readonly status: 'limited'; readonly rule: SignInRule['of']; readonly retryAtMs: number }

export interface SignInStore {
  /** Counts a failure in advance, in the step that looks at the rules: tries at once cannot slip through together. */
  begin(
    attempt: Omit<SignInRecord, 'id' | 'outcome'> & { readonly ipKey: string; readonly device: string | null },
    rules: readonly SignInRule[],
  ): Promise<SignInStart>
  succeed(id: number, userId: string, method: SignInMethod): Promise<void>
  /** The first factor was right and the second was wrong. */
  failCode(id: number): Promise<void>
  /** A try that ended without a verdict (the server was busy) does not count. */
  forget(id: number): Promise<void>
  list(userId: string, beforeId: number | null, limit: number): Promise<readonly SignInRecord[]>
  prune(beforeMs: number): Promise<void>
}

export interface CodeRecord {
  readonly id: string
  readonly label: string
  readonly amountMicro: Micro
  readonly usesMax: number
  readonly uses: number
  readonly expiresAtMs: number | null
  readonly note: string | null
  readonly disabled: boolean
  readonly createdBy: string
  readonly createdAtMs: number
}

export type RedeemOutcome =
  | { readonly status: 'redeemed'; readonly amountMicro: Micro; readonly balanceMicro: Micro; readonly codeId: string }
  | { readonly status: 'unknown' | 'used_by_account' }

export interface CodeStore {
  create(codes: readonly (Omit<CodeRecord, 'uses' | 'disabled'> & { readonly digest: Buffer })[]): Promise<void>
  list(limit: number, offset: number): Promise<Page<CodeRecord>>
  get(id: string): Promise<CodeRecord | null>
  update(id: string, patch: { readonly disabled?: boolean; readonly note?: string | null }): Promise<CodeRecord | null>
  /** One use and one ledger entry, in one commit. */
  redeem(request: {
    readonly digest: Buffer
    readonly accountId: string
    readonly actor: string
    readonly atMs: number
  }): Promise<RedeemOutcome>
}

export interface PaymentRecord {
  readonly id: string
  readonly accountId: string
  readonly method: string
  readonly amountMicro: Micro
  readonly currency: string
  readonly state: 'pending' | 'paid' | 'cancelled'
  /** The provider's own id. */
  readonly paymentId: string | null
  readonly confirmationUrl: string | null
  readonly createdAtMs: number
  readonly paidAtMs: number | null
  /** How often the provider was asked for it by ourselves. */
  readonly checks: number
  /** What the provider has given back, and how much of that the account did not have any more. */
  readonly refundedMicro: Micro
  readonly refundMissingMicro: Micro
}

/** `booked`: taken from the balance, at most what it had; `known`: it was booked before. */
export type RefundOutcome =
  | { readonly status: 'booked'; readonly bookedMicro: Micro }
  | { readonly status: 'known' }
  | { readonly status: 'refused'; readonly why: string }

export interface PaymentStore {
  create(
    order: Pick<PaymentRecord, 'id' | 'accountId' | 'method' | 'amountMicro' | 'currency' | 'createdAtMs'>,
  ): Promise<void>
  /** Notes what the provider made of the order. */
  begin(id: string, paymentId: string, confirmationUrl: string | null): Promise<void>
  get(id: string): Promise<PaymentRecord | null>
  list(filter: {
    readonly accountId: string | null
    readonly beforeMs: number | null
    readonly limit: number
    readonly offset: number
  }): Promise<Page<PaymentRecord>>
  /**
   * Paid, and one ledger entry keyed by the payment id, in one commit. false = it was not pending with this payment id
   * any more.
   */
  pay(request: { readonly id: string; readonly paymentId: string; readonly atMs: number }): Promise<boolean>
  /** false = it was not pending any more. */
  cancel(id: string): Promise<boolean>
  findByPayment(method: string, paymentId: string): Promise<PaymentRecord | null>
  /** Pending orders whose time to be asked for has come, the longest due first. */
  due(nowMs: number, limit: number): Promise<readonly PaymentRecord[]>
  /** Takes a look at an order on oneself; false = another has, or it is not pending any more. */
  claim(id: string, checks: number, nextMs: number): Promise<boolean>
  /** A refund of the provider's, and one ledger entry of what the account still has, in one commit. */
  refund(request: {
    readonly orderId: string
    readonly refundId: string
    readonly amountMicro: Micro
    readonly atMs: number
  }): Promise<RefundOutcome>
}

/** Sums of a day, key, model and app, or of a group of them. */
export interface SpendSums {
  readonly requests: number
  readonly errors: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly costMicro: Micro
}

export type SpendGroup = 'model' | 'key' | 'app'

export interface LogFilter {
  readonly accountId: string
  readonly keyId?: string
  readonly model?: string
  readonly type?: string
  readonly provider?: string
  readonly status?: GenerationStatus
  readonly app?: string
  readonly generationId?: string
  readonly requestId?: string
  readonly fromMs?: number
  readonly toMs?: number
  /** Only rows with a smaller number. */
  readonly beforeSeq: number | null
  readonly limit: number
}

/**
 * A page of an account's own log. `nextSeq` null = nothing is left; `searchedToMs` is set where the search stopped
 * before the page was full.
 */
export interface LogPage {
  readonly data: readonly GenerationRow[]
  readonly nextSeq: number | null
  readonly searchedToMs: number | null
}

export interface AppSums extends SpendSums {
  readonly app: string
  readonly title: string | null
  readonly model: string
  readonly lastAtMs: number
}

/** What the cabinet reads of an account's own requests. */
export interface LogStore {
  page(filter: LogFilter): Promise<LogPage>
  hold(generationId: string): Promise<HoldRow | null>
  /** Days that have any, both ends included. */
  days(accountId: string, fromDay: string, toDay: string): Promise<readonly (SpendSums & { readonly day: string })[]>
  grouped(
    accountId: string,
    group: SpendGroup,
    fromDay: string,
    toDay: string,
  ): Promise<readonly (SpendSums & { readonly day: string; readonly group: string; readonly title: string | null })[]>
  apps(accountId: string, fromDay: string, toDay: string): Promise<readonly AppSums[]>
  providers(accountId: string, fromDay: string): Promise<readonly string[]>
  /** The account's keys, deleted ones too. */
  keys(
    accountId: string,
  ): Promise<
    readonly { readonly id: string; readonly name: string; readonly label: string; readonly deleted: boolean }[]
  >
}

import { Statement } from '../records/statement.ts'
import { KeyRotationBody } from '../records/limits-contract.ts'
import { list, object, only, text, whole } from '../../base/schema.ts'
import { ProofBody, type ApiOf, type WireRoute } from '../../base/wire-route.ts'
import {
  Identity,
  CodeBody,
  CodeSignInBody,
  LinkCheck,
  LinkCheckBody,
  PasswordBody,
  PasswordResetBody,
  Profile,
  ProfilePatch,
  RecoveryCodes,
  SessionItem,
  SessionState,
  SetUpBody,
  SignedIn,
  SignInAnswer,
  SignInBody,
  SignInItem,
  SignUpBody,
  TotpSeed,
} from './session-contract.ts'
import {
  Key,
  KeyBody,
  KeyPatch,
  Keys,
  KeysQuery,
  ManagementKeyBody,
  ManagementKeys,
  NewKey,
  NewManagementKey,
} from './key-contract.ts'
import {
  Apps,
  AppsQuery,
  cursored,
  LogAnswer,
  LogFilters,
  LogQuery,
  RequestStory,
  UsageAnswer,
  UsageHours,
  UsageHoursQuery,
  UsageQuery,
} from './log-contract.ts'
import { MEMBER_ROUTES } from './member-contract.ts'
import { ModelRow, Models } from './model-contract.ts'
import {
  CodeBody as RedeemBody,
  EntryPage,
  LedgerQuery,
  PageQuery,
  PaymentQuery,
  Payment,
  PaymentBody,
  PaymentPage,
  Redeemed,
  StatementQuery,
  Summary,
} from './money-contract.ts'
import { NOTICE_ROUTES } from './notice-contract.ts'

const Deleted = object({ id: text(), deleted: only(true) })
const Nothing = object({})
const DAYS = { from: '2026-01-01', to: '2026-01-31' }
const KEY = { id: 'key_Vb3kQ9xT2mLr7dWa' }
const PROOF = { password: 'seven quiet lanterns' }
const TOKEN = 'Vb3kQ9xT2mLr7dWaVb3kQ9xT2mLr7dWaVb3kQ9xT2mL'

/**
 * The wire contract of `/cabinet/v1` between the console and the server. The browser imports only the types.
 *
 * - A session cookie opens it; API keys and the admin token are refused. Without a session: 401 `unauthorized`.
 * - A changing request must come from our own page: `Sec-Fetch-Site: same-origin` (or Origin equal to Host), JSON body.
 *   Else 403 `access_denied`.
 * - Amounts are RUB numbers with at most 6 decimals; times are ISO 8601 in UTC; days are `YYYY-MM-DD` in the service's
 *   time zone.
 * - Errors have one shape, `ErrorBody`; 400 `invalid_input` names the field at the start of its message (`password: must
 *   …`), and in `metadata.field` with `check` (one of `FieldChecks`) and its `params`; other refusals have
 *   `metadata.reason` (one of `RefusalReasons`).
 * - Lists that may be long are read with cursors: pass `next_cursor` back as `cursor`; null = the end. Cursors are
 *   opaque.
 * - Texts that users typed or clients sent (names, titles, referers) come back as they were: render them as text only.
 */
export const CABINET_ROUTES = {
  'GET /cabinet/v1/session': {
    summary: 'Says who is signed in. Open to anybody.',
    answer: SessionState,
    example: {},
  },
  'POST /cabinet/v1/sign-up': {
    summary: 'Makes a user with an account, and signs in. 403 while closed; 409 for a known e-mail.',
    body: SignUpBody,
    answer: SignedIn,
    status: 201,
    errors: ['access_denied', 'conflict', 'rate_limit_exceeded'],
    example: { body: { email: 'ann@example.com', password: 'seven quiet lanterns' } },
  },
  'POST /cabinet/v1/sign-in': {
    summary:
      'Signs in. A wrong e-mail and a wrong password are the same 401. `code_required`: the password was right; send the ticket (good for 5 minutes) with a code to `sign-in/code`.',
    body: SignInBody,
    answer: SignInAnswer,
    errors: ['unauthorized', 'rate_limit_exceeded'],
    example: { body: { email: 'ann@example.com', password: 'seven quiet lanterns' } },
  },
  'POST /cabinet/v1/sign-in/code': {
    summary: 'The second step of a sign-in.',
    body: CodeSignInBody,
    answer: SignInAnswer,
    errors: ['unauthorized', 'rate_limit_exceeded'],
    example: { body: { ticket: TOKEN, code: '123456' } },
  },
  'POST /cabinet/v1/password-reset': {
    summary:
      'Mails a link for a forgotten password, good once and for an hour. The answer is the same whether there is such a user. 403 where no mail is sent; 429 after 20 in an hour from one address. A mailbox gets 3 in an hour.',
    body: PasswordResetBody,
    answer: object({ accepted: only(true) }),
    status: 202,
    errors: ['access_denied', 'rate_limit_exceeded'],
    example: { body: { email: 'ann@example.com' } },
  },
  'POST /cabinet/v1/sign-out': {
    summary: 'Ends this session.',
    body: Nothing,
    answer: object({ signed_out: only(true) }),
    example: { body: {} },
  },
  'POST /cabinet/v1/setup/check': {
    summary: 'What a set-up link (`/setup?token=…`) is for. 403 when it is used or expired.',
    body: LinkCheckBody,
    answer: LinkCheck,
    errors: ['access_denied'],
    example: { body: { token: TOKEN } },
  },
  'POST /cabinet/v1/setup': {
    summary:
      'Uses a set-up link up, and signs in. `code` is needed where `setup/check` says `code_required`: 401 for a wrong one, and the link stays good.',
    body: SetUpBody,
    answer: SignedIn,
    status: 201,
    errors: ['unauthorized', 'access_denied', 'conflict', 'rate_limit_exceeded'],
    example: { body: { token: TOKEN, password: 'seven quiet lanterns' } },
  },

  'GET /cabinet/v1/profile': { summary: 'The signed-in user.', answer: Profile, example: {} },
  'PATCH /cabinet/v1/profile': {
    summary: 'Changes the fields that are given.',
    body: ProfilePatch,
    answer: Profile,
    example: { body: { name: 'Ann', timezone: 'Europe/Moscow', language: 'ru', theme: 'dark' } },
  },
  'POST /cabinet/v1/password': {
    summary: 'A new password, with the old one or a code as proof. All other sessions end.',
    body: PasswordBody,
    answer: Profile,
    errors: ['access_denied', 'rate_limit_exceeded'],
    example: { body: { current_password: 'seven quiet lanterns', new_password: 'nine quiet lanterns' } },
  },
  'POST /cabinet/v1/totp': {
    summary: 'A new seed of two-step sign-in, in use once it is confirmed.',
    body: ProofBody,
    answer: TotpSeed,
    errors: ['access_denied', 'conflict', 'rate_limit_exceeded'],
    example: { body: PROOF },
  },
  'POST /cabinet/v1/totp/confirm': {
    summary: 'Turns two-step sign-in on. All other sessions end.',
    body: CodeBody,
    answer: RecoveryCodes,
    errors: ['conflict', 'rate_limit_exceeded'],
    example: { body: { code: '123456' } },
  },
  'POST /cabinet/v1/totp/recovery-codes': {
    summary: 'New recovery codes; the earlier ones open nothing any more.',
    body: CodeBody,
    answer: RecoveryCodes,
    errors: ['conflict', 'rate_limit_exceeded'],
    example: { body: { code: '123456' } },
  },
  'POST /cabinet/v1/totp/disable': {
    summary: 'Turns two-step sign-in off. All other sessions end.',
    body: CodeBody,
    answer: Profile,
    errors: ['conflict', 'rate_limit_exceeded'],
    example: { body: { code: '123456' } },
  },
  'GET /cabinet/v1/identities': {
    summary: 'Who at the issuer of single sign-on may sign in as this user.',
    answer: object({ data: list(Identity) }),
    example: {},
  },
  'POST /cabinet/v1/identities/link': {
    summary: 'Adds a single sign-on: send the browser to `url`. 409 while one is linked; 404 where there is none.',
    body: ProofBody,
    answer: object({ url: text() }),
    errors: ['access_denied', 'not_found', 'conflict', 'rate_limit_exceeded'],
    example: { body: PROOF },
  },
  'POST /cabinet/v1/identities/:id/unlink': {
    summary: 'Takes a single sign-on away. All other sessions end. 409 for the only way in.',
    body: ProofBody,
    answer: Deleted,
    errors: ['access_denied', 'not_found', 'conflict', 'rate_limit_exceeded'],
    example: { path: { id: 'Vb3kQ9xT2mLr7dWa' }, body: PROOF },
  },
  'GET /cabinet/v1/sessions': {
    summary: 'Where the user is signed in.',
    answer: object({ data: list(SessionItem) }),
    example: {},
  },
  'DELETE /cabinet/v1/sessions/:id': {
    summary: 'Ends one of the sessions.',
    answer: Deleted,
    errors: ['not_found'],
    example: { path: { id: 'ses_Vb3kQ9xT2mLr7dWa' } },
  },
  'POST /cabinet/v1/sessions/revoke-others': {
    summary: 'Ends every other session.',
    body: Nothing,
    answer: object({ revoked: whole() }),
    example: { body: {} },
  },
  'GET /cabinet/v1/sign-ins': {
    summary: 'Sign-ins of the last 90 days, failed ones included, newest first.',
    query: PageQuery,
    answer: cursored(SignInItem),
    example: { query: { limit: '10' } },
  },

  'GET /cabinet/v1/summary': { summary: 'The first page after signing in.', answer: Summary, example: {} },
  'GET /cabinet/v1/keys': {
    summary: 'The keys of the account.',
    query: KeysQuery,
    answer: Keys,
    example: { query: { limit: '50' } },
  },
  'POST /cabinet/v1/keys': {
    summary: 'Makes a key. `key` is in this answer only.',
    body: KeyBody,
    answer: NewKey,
    status: 201,
    errors: ['conflict'],
    example: { body: { name: 'laptop', limit: 500, limit_reset: 'monthly' } },
  },
  'GET /cabinet/v1/keys/:id': { summary: 'One key.', answer: Key, errors: ['not_found'], example: { path: KEY } },
  'PATCH /cabinet/v1/keys/:id': {
    summary: 'Changes the fields that are given.',
    body: KeyPatch,
    answer: Key,
    errors: ['not_found'],
    example: { path: KEY, body: { disabled: true, limit: null } },
  },
  'POST /cabinet/v1/keys/:id/rotate': {
    summary: 'Gives a key a new secret; the old one works until its grace ends. `key` is in this answer only.',
    body: KeyRotationBody,
    answer: NewKey,
    errors: ['not_found', 'conflict'],
    example: { path: KEY, body: { grace_seconds: 3_600 } },
  },
  'DELETE /cabinet/v1/keys/:id': {
    summary: 'Deletes a key.',
    answer: Deleted,
    errors: ['not_found'],
    example: { path: KEY },
  },
  'GET /cabinet/v1/management-keys': {
    summary: 'The keys that manage the keys of the account.',
    answer: ManagementKeys,
    example: {},
  },
  'POST /cabinet/v1/management-keys': {
    summary: 'Makes a key for `/v1/keys`, which opens no model. `key` is in this answer only.',
    body: ManagementKeyBody,
    answer: NewManagementKey,
    status: 201,
    errors: ['conflict'],
    example: { body: { name: 'provisioning' } },
  },
  'DELETE /cabinet/v1/management-keys/:id': {
    summary: 'Deletes it. The keys that it made stay.',
    answer: Deleted,
    errors: ['not_found'],
    example: { path: { id: 'mkey_Vb3kQ9xT2mLr7dWa' } },
  },

  'GET /cabinet/v1/usage': {
    summary: 'Requests, tokens and cost by day and group.',
    query: UsageQuery,
    answer: UsageAnswer,
    example: { query: { group_by: 'key' } },
  },
  'GET /cabinet/v1/usage/hours': {
    summary: 'The same by hour, of at most a week and a million requests.',
    query: UsageHoursQuery,
    answer: UsageHours,
    errors: ['rate_limit_exceeded'],
    example: { query: { group_by: 'model' } },
  },
  'GET /cabinet/v1/log': {
    summary:
      'The log, newest first. A search that found too little in its time answers what it has, with `searched_to`, the time it got back to; the cursor goes on.',
    query: LogQuery,
    answer: LogAnswer,
    example: { query: { status: 'completed', limit: '20' } },
  },
  'GET /cabinet/v1/log/filters': {
    summary: 'What the log can be filtered by: the values of the last 90 days.',
    answer: LogFilters,
    example: {},
  },
  'GET /cabinet/v1/log/:id': {
    summary: 'Everything about one request, by its generation id.',
    answer: RequestStory,
    errors: ['generation_not_found'],
    example: { path: { id: 'gen-Vb3kQ9xT2mLr7dWa' } },
  },
  'GET /cabinet/v1/apps': {
    summary: 'Spending by application.',
    query: AppsQuery,
    answer: Apps,
    example: { query: { range: '7d' } },
  },

  'GET /cabinet/v1/models': { summary: 'Every listed model.', answer: Models, example: {} },
  'GET /cabinet/v1/models/*id': {
    summary: 'One model. The slashes of its id stay in the path.',
    answer: ModelRow,
    errors: ['model_record_not_found'],
    example: { path: { id: 'sandbox/chat' } },
  },

  ...NOTICE_ROUTES,
  ...MEMBER_ROUTES,

  'GET /cabinet/v1/ledger': {
    summary: 'The entries of the account, newest first, and its money.',
    query: LedgerQuery,
    answer: EntryPage,
    example: { query: { kind: 'money' } },
  },
  'GET /cabinet/v1/statement': {
    summary: 'A statement of whole days: opening + lines = closing. At most 366 days.',
    query: StatementQuery,
    answer: Statement,
    example: { query: DAYS },
  },
  'POST /cabinet/v1/codes/redeem': {
    summary:
      'Redeems a code for money. 404 for an unknown, used-up or expired code; 409 when this account has used it; 429 after 10 tries in an hour.',
    body: RedeemBody,
    answer: Redeemed,
    errors: ['not_found', 'conflict', 'rate_limit_exceeded'],
    example: { body: { code: 'VB3K-Q9XT-2MNR-7DWA-0000' } },
  },
  'GET /cabinet/v1/payments': {
    summary: 'Orders at the payment provider, newest first, and the methods there are.',
    query: PaymentQuery,
    answer: PaymentPage,
    example: {},
  },
  'POST /cabinet/v1/payments': {
    summary: 'Orders a payment: send the browser to `confirmation_url`. It comes back to `/top-up?payment=<id>`.',
    body: PaymentBody,
    answer: Payment,
    status: 201,
    errors: ['service_unavailable'],
    example: { body: { method: 'yookassa', amount: 500 } },
  },
  'GET /cabinet/v1/payments/:id': {
    summary: 'One order.',
    answer: Payment,
    errors: ['not_found'],
    example: { path: { id: 'pay_Vb3kQ9xT2mLr7dWa' } },
  },
  'POST /cabinet/v1/payments/:id/check': {
    summary: 'Asks the provider now instead of waiting for its notification.',
    body: Nothing,
    answer: Payment,
    errors: ['not_found', 'service_unavailable'],
    example: { path: { id: 'pay_Vb3kQ9xT2mLr7dWa' }, body: {} },
  },
} as const satisfies Readonly<Record<string, WireRoute>>

export type CabinetApi = ApiOf<typeof CABINET_ROUTES>

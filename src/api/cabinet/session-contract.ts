import {
  body,
  filled,
  flag,
  list,
  nullable,
  object,
  oneOf,
  only,
  optional,
  rub,
  text,
  time,
  whole,
  anything,
  either,
  open,
  type Static,
} from '../../base/schema.ts'
import { ProofBody, type WireRoute } from '../../base/wire-route.ts'
import { Deleted, EXAMPLE_TOKEN } from '../records/route-rows.ts'
import { cursored } from './log-contract.ts'
import { PageQuery } from './money-contract.ts'
import { ACCOUNT_ROLES, ADMIN_SCOPES, MEMBER_ROLES, MEMBER_SCOPES, OPERATOR_ROLES } from '../../tables/scopes.ts'

const SECRET_CHARS_MAX = 1_000

export const ERROR_FIELDS = {
  code: whole('The HTTP status.'),
  message: text(),
  retry_after: optional(whole('Seconds, for `rate_limit_exceeded`.')),
  metadata: open({ error_type: text() }, anything()),
} as const
export const ErrorBody = object({ error: object(ERROR_FIELDS) })
export type ErrorBody = Static<typeof ErrorBody>

export const Language = oneOf(['en', 'ru'])
export type Language = Static<typeof Language>

export const Theme = oneOf(['light', 'dark', 'auto'])
export type Theme = Static<typeof Theme>

export const Role = oneOf(['user', 'admin'])
export type Role = Static<typeof Role>

export const ServiceFacts = object(
  {
    version: text(),
    signup: oneOf(['open', 'confirmed', 'closed'], '`confirmed`: by a link to the e-mail (`sign-up/link`).'),
    oidc: nullable(
      object(
        { name: text(), start: only('/cabinet/v1/oidc/start') },
        'A single sign-on button; `start` is where the browser goes (a full navigation).',
      ),
    ),
    password_reset: flag('A link for a forgotten password can be mailed.'),
    set_up: list(oneOf(['email', 'telegram', 'webhook', 'payments']), 'What the operator has set up here.'),
    needs_setup: flag('No administrator exists yet: the printed set-up link creates the first one.'),
    maintenance: nullable(object({ message: nullable(text()) }, 'Message of the maintenance switch while it is on.')),
    brand: object(
      {
        name: text(),
        logo: text('A data URL.'),
        accent: text('`#rrggbb`; `/brand.css` derives from it.'),
        support: text(),
        offer: text(),
        privacy: text(),
      },
      "Whose service it is: the operator's setting `brand`. Empty = none.",
    ),
    status_page: flag('`/status` says to anybody how the models are.'),
    announcement: object({ text: text(), link: text() }, "The operator's setting; an empty text = none."),
    api_base: text('Base of the customer API for snippets, for example `https://ai.example.com/v1`.'),
    currency: only('RUB'),
    service_timezone: text('Whose days and months limits and charts count.'),
    password: object({ least: whole(), most: whole() }),
  },
  'What the sign-in page needs before anybody is known.',
)
export type ServiceFacts = Static<typeof ServiceFacts>

export const MemberRole = oneOf(
  MEMBER_ROLES,
  '`owner`: everything. `member`: makes keys of their own and asks models. `billing`: pays, and sees what is spent.',
)
export type MemberRole = Static<typeof MemberRole>

export const MONTHLY_LIMIT =
  'The most that the keys which this person makes may spend in a month; null = no limit of their own.'

const AccountRole = oneOf(
  ACCOUNT_ROLES,
  '`viewer`: an operator who looks at the account as its people see it, and changes nothing.',
)
const Place = object({ account: text(), name: text('Of the account.'), role: AccountRole })

export const Profile = object({
  user_id: text(),
  email: text(),
  name: text(),
  role: Role,
  operator_role: nullable(oneOf(OPERATOR_ROLES, 'null = no operator.')),
  scopes: list(oneOf(ADMIN_SCOPES), 'What an operator may do in `/admin/v1`.'),
  account_id: text(),
  account_status: oneOf(['active', 'deactivated', 'locked']),
  account_role: nullable(AccountRole, 'null = the user has no account.'),
  account_scopes: list(oneOf(MEMBER_SCOPES), 'What the user may do in the account of this session.'),
  monthly_limit: nullable(rub(MONTHLY_LIMIT)),
  accounts: list(Place, 'Every account of the user; `POST /cabinet/v1/account` chooses one.'),
  default_model: nullable(text()),
  timezone: nullable(text("IANA name; null = the browser's.")),
  language: nullable(Language, "null = the browser's."),
  theme: Theme,
  has_password: flag(),
  has_oidc: flag(),
  totp: object({ enabled: flag(), recovery_codes_left: whole() }),
  must_enrol_totp: flag('Until an administrator has turned two-step sign-in on, `/admin/v1` refuses them here.'),
  created_at: time(),
})
export type Profile = Static<typeof Profile>

export const SessionState = object({
  service: ServiceFacts,
  profile: nullable(Profile, 'null = not signed in.'),
  session: nullable(
    object(
      { id: text(), idle_ends_at: time(), ends_at: time(), fresh_until: time() },
      'When this session ends if it is left alone, and at the latest; until when its sign-in stands for a user who has neither password nor two-step sign-in.',
    ),
  ),
})
export type SessionState = Static<typeof SessionState>

const EMAIL = text('', { minLength: 1, maxLength: SECRET_CHARS_MAX, pattern: '\\S', format: 'email' })
const PASSWORD = filled('', SECRET_CHARS_MAX)
const CODE = filled('From the authenticator, or a recovery code.', 100)

export const SignUpBody = body({
  email: EMAIL,
  password: PASSWORD,
  name: optional(nullable(filled('The e-mail if absent.', 100))),
  language: optional(nullable(Language)),
})
export type SignUpBody = Static<typeof SignUpBody>

export const SignInBody = body({ email: EMAIL, password: PASSWORD, code: optional(nullable(CODE)) })
export type SignInBody = Static<typeof SignInBody>

/** `code_required`: the password was right; send the ticket (valid for 5 minutes) with a code to `sign-in/code`. */
export const SignedIn = object({ status: only('signed_in'), ...SessionState.fields })

export const SignInAnswer = either(
  object({ status: only('signed_in'), ...SessionState.fields }),
  object({ status: only('code_required'), ticket: text() }),
)
export type SignInAnswer = Static<typeof SignInAnswer>

export const SessionItem = object({
  id: text(),
  current: flag(),
  ip: text(),
  user_agent: text(),
  created_at: time(),
  last_seen_at: time(),
  ends_at: time(),
})
export type SessionItem = Static<typeof SessionItem>

export const SignInItem = object({
  id: whole(),
  at: time(),
  ip: text(),
  user_agent: text(),
  method: oneOf(['password', 'totp', 'recovery_code', 'oidc', 'setup', 'sign_up']),
  outcome: oneOf(['succeeded', 'failed']),
})
export type SignInItem = Static<typeof SignInItem>

export const CodeSignInBody = body({ ticket: filled('', SECRET_CHARS_MAX), code: CODE })
export type CodeSignInBody = Static<typeof CodeSignInBody>
export const LinkCheckBody = body({ token: filled('Of the link.', SECRET_CHARS_MAX) })
export const LinkCheck = object({
  purpose: oneOf(['first_administrator', 'administrator', 'password', 'sign_up']),
  email: nullable(text('null = it is asked for.')),
  code_required: flag(),
})
export const SetUpBody = body({
  token: filled('Of the link.', SECRET_CHARS_MAX),
  email: optional(nullable(filled('Where the link does not know whose it is.', SECRET_CHARS_MAX))),
  password: PASSWORD,
  code: optional(nullable(CODE)),
})
export const ProfilePatch = body({
  name: optional(nullable(filled('', 100))),
  default_model: optional(nullable(filled('The model of requests that name none.'))),
  timezone: optional(nullable(filled("IANA name; null = the browser's.", 100))),
  language: optional(nullable(Language)),
  theme: optional(nullable(Theme)),
})
export type ProfilePatch = Static<typeof ProfilePatch>
export const LinkBody = body({ email: filled('', SECRET_CHARS_MAX), language: optional(nullable(Language)) })
export type LinkBody = Static<typeof LinkBody>

export const PasswordBody = body({
  current_password: optional(nullable(PASSWORD)),
  code: optional(nullable(CODE)),
  new_password: PASSWORD,
})
export type PasswordBody = Static<typeof PasswordBody>
export const CodeBody = body({ code: CODE })
export const RecoveryCodes = object({ recovery_codes: list(text(), 'Shown this once.') })
export const TotpSeed = object({ secret: text(), uri: text('For an authenticator: `otpauth://…`.') })

export const Identity = object(
  {
    id: text(),
    issuer: text(),
    subject: text(),
    email: nullable(text('As the issuer said it when it was linked.')),
    linked_at: nullable(time()),
  },
  'Somebody at the issuer of single sign-on who may sign in as this user.',
)
export type Identity = Static<typeof Identity>

const PROOF = { password: 'seven quiet lanterns' }

/** Signing in, and what is of the person themselves. */
export const SESSION_ROUTES = {
  'GET /cabinet/v1/session': { summary: 'Says who is signed in. Open to anybody.', answer: SessionState },
  'POST /cabinet/v1/sign-up': {
    summary: 'Makes a user with an account, and signs in. 403 while closed or `confirmed`; 409 for a known e-mail.',
    body: SignUpBody,
    answer: SignedIn,
    status: 201,
    errors: ['access_denied', 'conflict', 'rate_limit_exceeded'],
    example: { body: { email: 'ann@example.com', password: 'seven quiet lanterns' } },
  },
  'POST /cabinet/v1/sign-up/link': {
    summary:
      'Mails a link (`/setup?token=…`, good for a day) that proves the e-mail and makes the user. Somebody who is known gets a link to a new password; the answer is the same. 403 while sign-up is closed or no mail is sent; 429 after 20 in an hour from one address.',
    body: LinkBody,
    answer: object({ accepted: only(true) }),
    status: 202,
    errors: ['access_denied', 'rate_limit_exceeded'],
    example: { body: { email: 'ann@example.com' } },
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
    example: { body: { ticket: EXAMPLE_TOKEN, code: '123456' } },
  },
  'POST /cabinet/v1/password-reset': {
    summary:
      'Mails a link for a forgotten password, good once and for an hour. The answer is the same whether there is such a user. 403 where no mail is sent; 429 after 20 in an hour from one address. A mailbox gets 3 in an hour.',
    body: LinkBody,
    answer: object({ accepted: only(true) }),
    status: 202,
    errors: ['access_denied', 'rate_limit_exceeded'],
    example: { body: { email: 'ann@example.com' } },
  },
  'POST /cabinet/v1/sign-out': {
    summary: 'Ends this session.',
    body: object({}),
    answer: object({ signed_out: only(true) }),
  },
  'POST /cabinet/v1/setup/check': {
    summary: 'What a set-up link (`/setup?token=…`) is for. 403 when it is used or expired.',
    body: LinkCheckBody,
    answer: LinkCheck,
    errors: ['access_denied'],
    example: { body: { token: EXAMPLE_TOKEN } },
  },
  'POST /cabinet/v1/setup': {
    summary:
      'Uses a set-up link up, and signs in. `code` is needed where `setup/check` says `code_required`: 401 for a wrong one, and the link stays good.',
    body: SetUpBody,
    answer: SignedIn,
    status: 201,
    errors: ['unauthorized', 'access_denied', 'conflict', 'rate_limit_exceeded'],
    example: { body: { token: EXAMPLE_TOKEN, password: 'seven quiet lanterns' } },
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
    example: { body: PROOF },
  },
  'GET /cabinet/v1/sessions': { summary: 'Where the user is signed in.', answer: object({ data: list(SessionItem) }) },
  'DELETE /cabinet/v1/sessions/:id': { summary: 'Ends one of the sessions.', answer: Deleted },
  'POST /cabinet/v1/sessions/revoke-others': {
    summary: 'Ends every other session.',
    body: object({}),
    answer: object({ revoked: whole() }),
  },
  'GET /cabinet/v1/sign-ins': {
    summary: 'Sign-ins of the last 90 days, failed ones included, newest first.',
    query: PageQuery,
    answer: cursored(SignInItem),
    example: { query: { limit: '10' } },
  },
} as const satisfies Readonly<Record<string, WireRoute>>

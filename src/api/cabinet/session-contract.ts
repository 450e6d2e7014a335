import { ADMIN_SCOPES, OPERATOR_ROLES } from '../../tables/admin-scopes.ts'
import { MEMBER_ROLES, MEMBER_SCOPES } from '../../tables/member-scopes.ts'
import {
  anything,
  body,
  either,
  filled,
  flag,
  list,
  nullable,
  object,
  oneOf,
  only,
  open,
  optional,
  rub,
  text,
  time,
  whole,
  type Static,
} from '../../base/schema.ts'

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
    signup: oneOf(['open', 'closed']),
    oidc: nullable(
      object(
        { name: text(), start: only('/cabinet/v1/oidc/start') },
        'A single sign-on button; `start` is where the browser goes (a full navigation).',
      ),
    ),
    password_reset: flag('A link for a forgotten password can be mailed.'),
    needs_setup: flag('No administrator exists yet: whoever has the printed set-up link makes the first.'),
    maintenance: nullable(object({ message: nullable(text()) }, 'Message of the maintenance switch while it is on.')),
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

const Place = object({ account: text(), name: text('Of the account.'), role: MemberRole })

export const Profile = object({
  user_id: text(),
  email: text(),
  name: text(),
  role: Role,
  operator_role: nullable(oneOf(OPERATOR_ROLES, 'null = no operator.')),
  scopes: list(oneOf(ADMIN_SCOPES), 'What an operator may do in `/admin/v1`.'),
  account_id: text(),
  account_status: oneOf(['active', 'deactivated', 'locked']),
  account_role: nullable(MemberRole, 'null = the user has no account.'),
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
  purpose: oneOf(['first_administrator', 'administrator', 'password']),
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
export const PasswordResetBody = body({ email: filled() })

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

import { Deleted, EXAMPLE_DAYS } from '../records/route-rows.ts'
import {
  body,
  filled,
  flag,
  list,
  narrowed,
  nullable,
  object,
  oneOf,
  optional,
  rub,
  text,
  time,
  whole,
  type Static,
} from '../../base/schema.ts'
import { partsOf } from './admin-route.ts'
import { ProofBody } from '../../base/wire-route.ts'
import { CUSTOMER_MARKUP_MAX } from '../../catalog/customer-prices.ts'
import { OPERATOR_ROLES } from '../../tables/scopes.ts'
import { OperatorRole } from './token-contract.ts'
import { EXTERNAL_ID, EXTERNAL_ID_CHANGE, recordRows, listed, PageQuery, WORDS_QUERY } from './record-contract.ts'
import {
  ACCOUNT_LIMIT,
  LIMIT_RESET,
  ALLOWED_MODELS,
  KEY_STATE,
  keyBodies,
  KeyRotationBody,
} from '../records/limits-contract.ts'
import { Statement } from '../records/statement.ts'
import { LEDGER_FILTERS } from '../cabinet/money-contract.ts'

export const RateLimit = body({
  requests: whole('', { minimum: 1, maximum: 100_000 }),
  window: whole('Seconds.', { minimum: 1, maximum: 86_400 }),
})
export type RateLimit = Static<typeof RateLimit>

export const AccountStatus = oneOf(
  ['active', 'deactivated', 'locked'],
  '`deactivated`: nothing works; `locked`: the API does not.',
)
export type AccountStatus = Static<typeof AccountStatus>

/** A number above 0 and up to 1,000; a text is also accepted, and read exactly. */
export const MARKUP = narrowed<number | string>({
  description: "What everybody's prices are multiplied with: 0.9 is a tenth less.",
  anyOf: [
    { type: 'number', format: 'decimal', exclusiveMinimum: 0, maximum: CUSTOMER_MARKUP_MAX },
    { type: 'string', pattern: '^(?=[^eE]*[1-9])[0-9]{1,4}([.][0-9]{1,36})?$' },
  ],
})
const OWN_MARKUP = nullable(MARKUP, "null = the group's, if it has one.")
const GROUP = nullable(filled('Id of a group of accounts.', 100))

export const Account = object({
  id: text(),
  external_id: EXTERNAL_ID,
  name: text(),
  email: nullable(text('Where its owner can be reached: nobody has access by it.')),
  status: AccountStatus,
  default_model: nullable(text()),
  rate_limit: nullable(RateLimit, "null = the service's."),
  allowed_models: nullable(list(text())),
  exact_holds: flag('The database decides each hold of the account: nodes set none of its money aside.'),
  group: nullable(text('Id of its group.')),
  markup: nullable(
    text("What everybody's prices are multiplied with for it, an exact decimal; null = its group's, if any."),
  ),
  ...ACCOUNT_LIMIT,
  balance: rub(),
  available: rub(),
  reserved: rub(),
  created_at: time(),
})
export type Account = Static<typeof Account>

export const AccountSort = oneOf(
  ['created_at', '-created_at', 'name', '-name'],
  'The largest first after `-`; `-created_at` if absent.',
)

export const AccountQuery = object({
  ...PageQuery.fields,
  query: optional(WORDS_QUERY),
  status: optional(AccountStatus),
  group: optional(text('Its id.')),
  sort: optional(AccountSort),
})
export type AccountQuery = Static<typeof AccountQuery>

const NAME = filled('', 500)
const MODEL = nullable(filled('The model of requests that name none.'))
/** The spending limit of an account as fields of a body. */
const LIMIT = {
  limit: optional(nullable(rub('What all its keys together may spend in a period; null = no limit.', { minimum: 0 }))),
  limit_reset: optional(nullable(LIMIT_RESET)),
} as const

export const AccountBody = body({
  name: NAME,
  email: optional(nullable(filled())),
  default_model: optional(MODEL),
  rate_limit: optional(nullable(RateLimit)),
  group: optional(GROUP),
  markup: optional(OWN_MARKUP),
  ...LIMIT,
})
export type AccountBody = Static<typeof AccountBody>

/** All of an account's terms: those that are left out have their defaults. */
export const AccountPut = body({
  ...AccountBody.fields,
  status: optional(nullable(AccountStatus, 'It stays where it is left out: people switch it in an emergency.')),
  allowed_models: optional(nullable(ALLOWED_MODELS)),
  exact_holds: optional(nullable(flag())),
})

export const AccountPatch = body({
  external_id: EXTERNAL_ID_CHANGE,
  name: optional(nullable(NAME)),
  email: optional(nullable(filled())),
  status: optional(nullable(AccountStatus)),
  default_model: optional(MODEL),
  rate_limit: optional(nullable(RateLimit)),
  allowed_models: optional(nullable(ALLOWED_MODELS)),
  exact_holds: optional(nullable(flag())),
  group: optional(GROUP),
  markup: optional(OWN_MARKUP),
  ...LIMIT,
})
export type AccountPatch = Static<typeof AccountPatch>

export const EntryBody = body({
  kind: oneOf(
    ['topup', 'refund', 'adjustment'],
    '`refund` is money paid back to the customer and leaves the balance; `adjustment` is signed.',
  ),
  amount: rub('Above 0, but for an adjustment.'),
  reason: filled(),
  reference: filled(
    'Unique in its kind. A repeat returns the first entry, or a 409 if the amount differs. An adjustment with the id of a generation gives back its charge: above 0, and no more than was charged.',
    200,
  ),
})
export type EntryBody = Static<typeof EntryBody>

export const LedgerQuery = object({ ...LEDGER_FILTERS, ...PageQuery.fields })

/** A top-up by its reference in the path. */
export const TopUpPut = body({ amount: rub('Above 0.'), reason: filled() })

export const Entry = object({
  id: whole(),
  kind: oneOf(['topup', 'refund', 'adjustment', 'charge']),
  amount: rub(),
  reference: text(),
  reason: nullable(text()),
  actor: nullable(text()),
  created_at: time(),
})
export type Entry = Static<typeof Entry>
export const LedgerEntry = object({
  ...Entry.fields,
  balance: nullable(rub('Of the account after it; null far down a list of one kind.')),
  payment: nullable(text('The id of the payment that it books or gives back.')),
})
export type LedgerEntry = Static<typeof LedgerEntry>

export const Key = object({
  id: text(),
  external_id: EXTERNAL_ID,
  account: text(),
  name: text(),
  label: text(),
  disabled: flag(),
  limit: nullable(rub()),
  limit_reset: nullable(LIMIT_RESET),
  limit_remaining: nullable(rub()),
  ...KEY_STATE,
})
export type Key = Static<typeof Key>
export const ListedKey = object({
  ...Key.fields,
  refused_today: whole('Its requests that were refused since the day began.'),
})
export type ListedKey = Static<typeof ListedKey>

const BODIES = keyBodies(NAME, nullable(LIMIT_RESET))
export const KeyBody = BODIES.made
export const KeyPatch = body({ external_id: EXTERNAL_ID_CHANGE, ...BODIES.changed.fields })
/** All of a key's terms: those that are left out have their defaults. */
export const KeyPut = body({
  account: filled('Its id, or its external id as `external:NAME`. A key does not move to another account.'),
  disabled: optional(nullable(flag('It stays where it is left out: people switch it in an emergency.'))),
  ...BODIES.made.fields,
})
export type KeyBody = Static<typeof KeyBody>

const NOTE_CHARS_MAX = 2_000
export const NoteBody = body({ text: filled('', NOTE_CHARS_MAX) })
export const AccountNote = object(
  { id: text(), text: text(), author: text('Who wrote it, as in the audit log.'), created_at: time() },
  "An operator's note on an account, which its people never see.",
)
export type AccountNote = Static<typeof AccountNote>

export const UserRole = oneOf(['user', 'admin'], '`admin`: an operator, who may do what `operator_role` says.')

export const ConsoleUser = object(
  {
    id: text(),
    external_id: EXTERNAL_ID,
    email: text(),
    role: UserRole,
    operator_role: nullable(OperatorRole),
    account: nullable(text()),
    disabled: flag(),
    has_password: flag(),
    has_oidc: flag(),
    identities: list(
      object({ id: text(), issuer: text(), subject: text(), email: nullable(text()), linked_at: nullable(time()) }),
      'Who at the issuer of single sign-on may sign in as this user.',
    ),
    totp: flag(),
    created_at: time(),
    last_sign_in_at: nullable(time()),
  },
  'A person who signs in to the console.',
)
export type ConsoleUser = Static<typeof ConsoleUser>

export const IpBlock = object({
  ip: text('An IPv4 address, or the /64 of an IPv6 one.'),
  until: time(),
  times: whole('How often it was blocked within a day.'),
})
export type IpBlock = Static<typeof IpBlock>

export const UserSort = oneOf(
  ['created_at', '-created_at', 'email', '-email'],
  'The largest first after `-`; `-created_at` if absent.',
)

export const UserQuery = object({
  ...PageQuery.fields,
  account: optional(text("Narrows to one account's.")),
  role: optional(UserRole),
  query: optional(WORDS_QUERY),
  sort: optional(UserSort),
})

export const UserPatch = body({
  external_id: EXTERNAL_ID_CHANGE,
  role: optional(nullable(UserRole)),
  operator_role: optional(nullable(oneOf(OPERATOR_ROLES, 'It makes a user an operator.'))),
  disabled: optional(flag()),
  ...ProofBody.fields,
})

export const PasswordLinkBody = body({
  clear_totp: optional(flag('Two-step sign-in is taken off too, when the link is used.')),
  ...ProofBody.fields,
})

export const AdministratorBody = body({
  email: filled('', 255),
  role: optional(oneOf(OPERATOR_ROLES, '`owner` if absent.')),
  ...ProofBody.fields,
})

/** A person and the link to hand to them. */
export const PersonLink = object({
  id: text(),
  email: text(),
  link: text(),
  mailed: flag('It is sent to the address too.'),
})

const ACCOUNT = { id: 'acc_Vb3kQ9xT2mLr7dWa' }
/** What a customer pays needs the scope for money. */
const PRICE_RULE = { group: 'money:write', markup: 'money:write' } as const
const KEY_SCOPES = ['keys:read', 'keys:issue'] as const
/** A caller that may only write keys renames them and switches them off and on. */
const KEY_TERMS = partsOf(
  Object.keys(KeyPatch.fields).filter((name) => !['name', 'disabled', 'external_id'].includes(name)),
  'keys:issue',
)

/** The routes of accounts, their money and their keys, a part of the operator's contract. */
export const ACCOUNT_ROUTES = {
  'GET /admin/v1/accounts': {
    command: 'account list',
    scope: 'accounts:read',
    summary: 'Lists accounts. `query` finds by the beginning of id, name or e-mail.',
    query: AccountQuery,
    answer: listed(Account),
    example: { query: { limit: '10' } },
  },
  'POST /admin/v1/accounts': {
    command: 'account create [name]',
    scope: 'accounts:write',
    parts: PRICE_RULE,
    summary: 'Makes an account.',
    body: AccountBody,
    answer: Account,
    status: 201,
    example: { body: { name: 'Lantern Ltd', email: 'books@example.com' } },
  },
  ...recordRows('/admin/v1/accounts/:id', ['accounts:read', 'accounts:write'], Account, {
    GET: { command: 'account show', summary: 'One account.' },
    PUT: {
      command: 'account put',
      parts: PRICE_RULE,
      summary:
        'Makes the account of an external id, or makes it equal to the body. The same body again changes nothing.',
      body: AccountPut,
      example: { path: { id: 'external:team-a' }, body: { name: 'Team A', rate_limit: { requests: 300, window: 60 } } },
    },
    PATCH: {
      command: 'account update',
      parts: PRICE_RULE,
      summary: 'Changes the fields that are given.',
      body: AccountPatch,
      example: { body: { allowed_models: null, limit: 50_000, limit_reset: 'monthly' } },
    },
    DELETE: {
      command: 'account close',
      summary:
        'Closes an account: it is deactivated and loses its external id and its group. Its books stay under its own id.',
      example: { path: { id: 'external:team-z' } },
    },
  }),
  'PUT /admin/v1/accounts/:id/topups/:reference': {
    command: 'ledger put',
    scope: 'money:write',
    summary:
      'Books a top-up, once for each reference. A repeat returns the first entry, or a 409 if the amount differs.',
    body: TopUpPut,
    answer: Entry,
    alsoStatus: 201,
    example: { path: { ...ACCOUNT, reference: 'invoice-18' }, body: { amount: 100, reason: 'invoice 18' } },
  },
  'GET /admin/v1/accounts/:id/topups/:reference': {
    command: 'ledger show',
    scope: 'money:read',
    summary: 'A top-up by its reference.',
    answer: Entry,
    example: { path: { ...ACCOUNT, reference: 'invoice-18' } },
  },
  'POST /admin/v1/accounts/:id/ledger': {
    command: 'ledger create',
    scope: 'money:write',
    summary:
      'Books money. A repeated reference answers 200 with the first entry; with another amount, or where `available` does not cover it, 409.',
    body: EntryBody,
    answer: object({ id: whole(), kind: text(), amount: rub(), balance: rub() }),
    status: 201,
    alsoStatus: 200,
    example: { body: { kind: 'topup', amount: 1500.5, reason: 'invoice 17', reference: 'invoice-17' } },
  },
  'GET /admin/v1/accounts/:id/ledger': {
    command: 'ledger list',
    scope: 'money:read',
    summary: 'The entries of an account, newest first, each with the balance after it.',
    query: LedgerQuery,
    answer: listed(LedgerEntry),
  },
  'GET /admin/v1/accounts/:id/statement': {
    command: 'statement show',
    scope: 'money:read',
    summary: 'A statement of whole days: opening + lines = closing. At most 366 days.',
    query: object({ from: text('A day.', { format: 'date' }), to: text('A day, included.', { format: 'date' }) }),
    answer: Statement,
    example: { query: EXAMPLE_DAYS },
  },
  'GET /admin/v1/accounts/:id/notes': {
    command: 'note list',
    scope: 'accounts:read',
    summary: "Operators' notes on an account, newest first. Its people never see them.",
    query: PageQuery,
    answer: listed(AccountNote),
  },
  'POST /admin/v1/accounts/:id/notes': {
    command: 'note create [text]',
    scope: 'notes:write',
    summary: 'Writes a note on an account.',
    body: NoteBody,
    answer: AccountNote,
    status: 201,
    example: { body: { text: 'Pays by invoice on the 5th: ask Olga before locking.' } },
  },
  'DELETE /admin/v1/accounts/:id/notes/:note': {
    command: 'note delete',
    scope: 'notes:write',
    summary: "Deletes a note that the caller wrote; an owner deletes any. For others, another's is a 404.",
    answer: Deleted,
    example: { path: { ...ACCOUNT, note: 'note_Vb3kQ9xT2mLr7dWa' } },
  },
  'GET /admin/v1/accounts/:id/keys': {
    command: 'key list',
    scope: 'keys:read',
    summary: 'The keys of an account.',
    query: object({ ...PageQuery.fields, query: optional(WORDS_QUERY) }),
    answer: listed(ListedKey),
  },
  'GET /admin/v1/keys': {
    command: 'key find',
    scope: 'keys:read',
    summary: 'Keys of all accounts that a search finds.',
    query: object({ ...PageQuery.fields, query: WORDS_QUERY }),
    answer: listed(Key),
    example: { query: { query: 'production' } },
  },
  'POST /admin/v1/accounts/:id/keys': {
    command: 'key create [name]',
    scope: 'keys:issue',
    summary: 'Makes a key. `key` is in this answer only.',
    body: KeyBody,
    answer: object({ ...Key.fields, key: text() }),
    status: 201,
    example: { body: { name: 'production', limit: 500, limit_reset: 'monthly' } },
  },
  ...recordRows('/admin/v1/keys/:id', KEY_SCOPES, Key, {
    GET: { command: 'key show', summary: 'One key, with its account.' },
    PUT: {
      command: 'key put',
      summary:
        'Makes the key of an external id, or makes it equal to the body. `key` is in the answer that makes it only.',
      body: KeyPut,
      answer: object({ ...Key.fields, key: optional(text()) }),
      example: {
        path: { id: 'external:team-a-ci' },
        body: { account: 'external:team-a', name: 'CI of team A', limit: 500, limit_reset: 'monthly' },
      },
    },
    PATCH: {
      command: 'key update',
      scope: 'keys:write',
      parts: KEY_TERMS,
      summary: 'Changes the fields that are given.',
      body: KeyPatch,
      example: { body: { disabled: true } },
    },
  }),
  'POST /admin/v1/keys/:id/rotate': {
    command: 'key rotate',
    scope: 'keys:issue',
    summary: 'Gives a key a new secret; the old one works until its grace ends. `key` is in this answer only.',
    body: KeyRotationBody,
    answer: object({ ...Key.fields, key: text() }),
    example: { body: { grace_seconds: 3_600 } },
  },
  ...recordRows('/admin/v1/keys/:id', KEY_SCOPES, Key, {
    DELETE: { command: 'key delete', summary: 'Deletes a key. Requests with it are refused from then on.' },
  }),
} as const

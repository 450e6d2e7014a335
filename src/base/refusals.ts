import { ApiError } from './errors.ts'

type None = Readonly<Record<string, never>>
type Range = { readonly least: number; readonly most: number }

type Given = { readonly given: string }
type Most = { readonly most: number }

/** Without figures in its sentence; where it has none at all, the caller has it. */
function own<P = None>(says = ''): (params: P) => string {
  return () => says
}

/**
 * The faults of fields in bodies of a console API, each with the sentence that follows the field's name; a caller may
 * have its own. Each refusal names its fault beside the English sentence, so that a page can show it in its reader's
 * language. A name without a text on the pages does not compile.
 */
const CHECKS = {
  absolute_path: ({ given }: Given) => `must be the absolute path of a file, got '${given}'`,
  amount: 'must be an amount in RUB, a number with at most 6 decimals and below 9000000000',
  above_context: ({ given, context }: { readonly given: number; readonly context: number }) =>
    `must be at most the context_length of ${context}, got ${given}`,
  above_zero: 'must be above 0',
  alias: own<Given>(),
  bad_email: ({ given }: Given) => `'${given}' is not an e-mail address`,
  bad_timezone: ({ given }: Given) => `must be an IANA time zone such as Europe/Moscow, got '${given}'`,
  chat_context: 'is required for a chat model',
  chat_id: 'must be the numeric id of a chat, such as 123456789',
  code_ended: 'is no longer good: ask for another one',
  code_required: 'is required, since two-step sign-in is on',
  csv_cell: own<{ readonly line: number; readonly column: number }>(),
  csv_empty: 'is empty',
  csv_no_column: own<{ readonly column: string; readonly names: string }>(),
  csv_no_currency: ({ line }: { readonly line: number }) =>
    `line ${line}: no currency: the file has no column of it, so name it beside the file`,
  csv_no_rate: ({ line, currency, day }: { readonly line: number; readonly currency: string; readonly day: string }) =>
    `line ${line}: no rate of ${currency} was in force on ${day}`,
  csv_open_quote: ({ line }: { readonly line: number }) => `line ${line}: a quotation mark is never closed`,
  currency_code: 'must be a currency code of three capital letters',
  colour: 'must be a colour such as #1d4ed8, dark enough for white text on it',
  coming_most: ({ most }: Most) => `at most ${most} changes can wait: take one back first`,
  cursor: 'must be one that an answer gave',
  day: own(),
  days_most: ({ most }: Most) => `at most ${most} days can be requested at once`,
  decimal: ({ most }: { readonly most: string }) => `must be a decimal number from 0 to ${most}`,
  empty_key: 'must not be empty; a provider without a key has none of it',
  endpoint_twice: ({ given }: Given) => `'${given}' is an endpoint of this model already`,
  external_id: 'must be 1 to 128 letters, digits and . _ : @ + -, with a letter or a digit first',
  factory_name: ({ given }: Given) => `must be the name of an exported function such as createMistral, got '${given}'`,
  far_price: ({
    found,
    currency,
    usual,
  }: {
    readonly found: string
    readonly usual: string
    readonly currency: string
  }) =>
    `is ${found} ${currency}, but a known price of this model is ${usual} ${currency}: prices are per million tokens. If it is right, set force: true beside price`,
  flag: 'must be true or false',
  guessable: 'is among the first that an attacker would try, choose another',
  hours_most: ({ most }: Most) => `at most ${most} hours can be requested at once`,
  header_name: own<Given>(),
  header_value: 'must be printable ASCII, of at most 4096 characters',
  http_address: ({ given }: Given) => `must be an http or https address, got '${given}'`,
  incomplete_price: own<{ readonly needs: string }>(),
  ip_range: ({ given }: Given) =>
    `must hold IP addresses or CIDR ranges such as 203.0.113.7 or 2001:db8::/32, got '${given}'`,
  items_most: own<Most>(),
  kopecks: ({ least, most }: Range) => `must be whole kopecks, from ${least} to ${most} RUB`,
  least: ({ least }: { readonly least: number }) => `must be a whole number from ${least}`,
  length: ({ least, most, given }: Range & { readonly given: number }) =>
    `must have ${least} to ${most} characters, got ${given}`,
  lines_most: ({ most }: Most) => `at most ${most} lines are allowed`,
  link: 'must be an address that begins with https://, http:// or mailto:',
  list: 'must be a list of texts',
  machine_auth: own(),
  masked_key: ({ given }: Given) => `'${given}' stands for no key that is sent to this address: give the whole key`,
  member_limit: ({ most }: Most) =>
    `needs a monthly limit of at most ${most}: that is left for the keys of this person`,
  metadata_address: ({ given }: Given) => `must not be a link-local or metadata address, got '${given}'`,
  model_id: ({ given }: Given) =>
    `must be of the form vendor/model_name, without :nitro or :floor, each of at most 200 characters, got '${given}'`,
  name_taken: ({ given }: Given) => `'${given}' is the name of another model or alias`,
  names_of: ({ known, given }: { readonly known: string; readonly given: string }) =>
    `must be names of ${known}, got '${given}'`,
  needs_limit: 'needs a limit',
  no_currency: 'is required: RUB, or a currency with a rate such as USD',
  no_endpoints: 'is required: at least one way to serve the model',
  no_prices: 'must have at least one price',
  no_rate: ({ currency }: { readonly currency: string }) =>
    `no rate is given for ${currency}: add rates.${currency}, in RUB`,
  not_after: 'must be before to',
  not_negative: 'must be 0 or more, or null for none',
  nul: 'holds the character NUL (U+0000), which only prompts may hold',
  not_set_up: ({ given }: Given) => `'${given}' is not set up on this service`,
  not_zero: 'must not be 0',
  object: 'must be an object',
  of_file: own(),
  one_credential: 'replaces api_key: leave one of them out',
  one_of: ({ allowed }: { readonly allowed: string }) => `must be one of ${allowed}`,
  operation_path: ({ path }: { readonly path: string }) =>
    `must be what stands before the operation's path: leave out '${path}'`,
  other_adapter: own<{ readonly adapter: string }>(),
  other_id: own<{ readonly path: string }>(),
  own_key: 'must name one of your keys',
  parameter_name: ({ given }: Given) => `must be the name of a parameter, got '${given}'`,
  percentage: 'must be a percentage from 0 to 100 with at most two decimals',
  picture: 'must be a data URL of a PNG, JPEG, WebP or SVG picture in base64',
  picture_key: "must be a size such as 1024x1024 or 2K, a quality such as high, or both as '1024x1024/high'",
  private_address: ({ host }: { readonly host: string }) =>
    `'${host}' is a private address; a catalogue file may use it, the admin API only with ALLOW_PRIVATE_UPSTREAMS=true`,
  requests_most: ({ most }: Most) => `at most ${most} requests are added up by hour: choose a shorter time, or days`,
  required: 'is required',
  rubles_only: 'must be RUB: what the customer pays is in rubles',
  same_prices: 'changes no price',
  sdk_missing: own<Given>(),
  sdk_package: own<Given>(),
  service_key: 'must be the whole JSON of a key of a service account',
  slug: own(),
  text: 'must be a text',
  text_length: ({ most }: Range) => `must be a text of 1 to ${most} characters`,
  time: 'must be an ISO time such as 2026-12-01T00:00:00Z',
  time_ahead: 'must be at least a minute from now, and within a year',
  time_of_day: ({ given }: Given) => `must be another time of day than from, got '${given}'`,
  uncharged: own(),
  uncharged_search: own(),
  unknown_field: own<{ readonly known: string }>('is not a known field'),
  unknown_group: ({ given }: Given) => `there is no group '${given}'`,
  unknown_model: ({ given }: Given) => `there is no model '${given}'`,
  unknown_provider: ({ given }: Given) => `no provider '${given}' is defined`,
  used_code: 'is wrong, or was used before',
  webhook_address: ({ given }: Given) => `must be the https address of a public server, without a user, got '${given}'`,
  whole: ({ least, most }: Range) => `must be a whole number from ${least} to ${most}`,
  wholes: 'must be a list of whole numbers',
  wrong: 'is wrong',
} as const

/** Refusals of a console API that are not about a field, named like the faults. */
const REASONS = {
  account_missing: ['access_denied', 'This user has no account'],
  another_needed: ['conflict', 'Another administrator must take this from you'],
  beyond_end: [
    'access_denied',
    ({ until }: { readonly until: string }) => `This would last longer than you, who end at ${until}`,
  ],
  beyond_own: ['access_denied', 'This has more rights than yours: a person who has all of them can do it'],
  beyond_charge: ['conflict', ({ most }: Most) => `A charge is given back only as far as it went: at most ${most} RUB`],
  channel_unconfirmed: ['conflict', 'Confirm this receiver with its code first'],
  channels_most: ['conflict', ({ most }: Most) => `At most ${most} receivers are kept`],
  code_unknown: ['not_found', 'code: is unknown, used up or expired'],
  code_used: ['conflict', 'code: this account has used it already'],
  connected: ['conflict', 'A single sign-on is connected already: disconnect it first'],
  email_taken: ['conflict', ({ email }: { readonly email: string }) => `email: a user with '${email}' exists already`],
  email_unproven: ['access_denied', 'The identity provider has not verified your e-mail'],
  external_id_taken: ['conflict', 'external_id: another record of this kind has it'],
  foreign_page: ['access_denied', 'A console session may only be used from the console itself'],
  group_in_use: ['conflict', own<{ readonly accounts: number }>()],
  has_administrator: ['access_denied', 'There is an administrator already'],
  identity_taken: ['conflict', 'Another user has this single sign-on'],
  key_secrets_most: ['conflict', own()],
  keys_most: ['conflict', ({ most }: Most) => `An account has at most ${most} management keys: delete some first`],
  last_owner: ['conflict', 'This is the last owner'],
  last_way_in: ['conflict', 'This is the only way in: set a password first'],
  link_dead: ['access_denied', 'This invitation is used, expired or revoked. Ask for another one'],
  link_not_yours: ['access_denied', ({ email }: { readonly email: string }) => `This invitation is for ${email}`],
  mail_unset: ['access_denied', 'No mail is sent here: ask the operator for a link'],
  member_already: ['conflict', 'You are in this account already'],
  maker_needed: [
    'access_denied',
    'Only the person who made this key replaces its secret, which opens what they have kept: disable it, or delete it and make another',
  ],
  member_keys_over: [
    'conflict',
    'The keys of this person may spend more than that in a month, or have no monthly limit: change or delete them first',
  ],
  members_most: ['conflict', ({ most }: Most) => `An account has at most ${most} people and open invitations`],
  not_parked: ['conflict', ({ id }: { readonly id: string }) => `Video job '${id}' is not parked`],
  oidc_refused: ['access_denied', 'The single sign-on was refused'],
  owner_stays: ['conflict', 'Only an owner themselves can change or remove an owner'],
  oidc_unset: ['not_found', 'Single sign-on is not set up here'],
  only_administrators: ['access_denied', 'This is for administrators'],
  only_provider: ['access_denied', 'Notifications are accepted only from addresses of YooKassa'],
  price_overtaken: ['conflict', 'Another person has decided it, or the price has changed since'],
  reference_taken: ['conflict', own<{ readonly reference: string }>()],
  proof_needed: ['access_denied', own<{ readonly with: string }>()],
  role_needed: [
    'access_denied',
    ({ role }: { readonly role: string }) => `Your role in this account, ${role}, does not allow this`,
  ],
  scope_needed: ['access_denied', ({ scope }: { readonly scope: string }) => `This needs the scope ${scope}`],
  session_stale: [
    'access_denied',
    ({ minutes }: { readonly minutes: number }) =>
      `Sign in again first: this needs a sign-in of the last ${minutes} minutes`,
  ],
  sign_in_first: ['unauthorized', 'Sign in first'],
  sign_in_late: ['unauthorized', 'This sign-in took too long: begin again'],
  sign_up_by_mail: ['access_denied', 'Who signs up here proves their e-mail first: ask for a link'],
  sign_up_closed: ['access_denied', own()],
  status_off: ['not_found', 'The status page is off here'],
  token_name_taken: [
    'conflict',
    ({ name }: { readonly name: string }) =>
      `A token named '${name}' is in force: revoke it first, or choose another name`,
  ],
  totp_needed: ['access_denied', 'Turn two-step sign-in on first: administrators need it'],
  totp_none_new: ['conflict', 'There is no new two-step sign-in to confirm'],
  totp_off: ['conflict', 'Two-step sign-in is off'],
  totp_on: ['conflict', 'Two-step sign-in is on: turn it off first'],
  uncovered: ['conflict', own()],
  unknown_id: ['not_found', own<{ readonly id: string }>()],
  wrong_code: ['unauthorized', 'code: is wrong, or was used before'],
  wrong_password: ['unauthorized', 'The e-mail or the password is wrong'],
} as const

type ParamsOf<S> = S extends (params: infer P) => string ? P : None
/** The figures of each fault. */
export type FieldChecks = { readonly [C in keyof typeof CHECKS]: ParamsOf<(typeof CHECKS)[C]> }
export type FieldCheck = keyof FieldChecks
export type RefusalReason = keyof typeof REASONS

/** The figures, and a sentence in the place of the usual one; figures that are none may be left out. */
type Said<P, W> = P extends None ? [params?: P, what?: W] : [params: P, what?: W]
export type SaidOf<C extends FieldCheck> = C extends FieldCheck ? Said<FieldChecks[C], string> : never

/** What a fault says, and its figures. */
export function faultOf<C extends FieldCheck>(
  check: C,
  ...[params = {}, what]: readonly [params?: unknown, what?: string]
): { readonly check: C; readonly params: FieldChecks[C]; readonly message: string } {
  // `SaidOf` has asked for the figures of this check.
  return { check, params: params as FieldChecks[C], message: what ?? sentence(CHECKS[check], params) }
}

function sentence(says: string | ((params: never) => string), params: unknown): string {
  return typeof says === 'string' ? says : says(params as never)
}

/** A 400 about a field: what is said follows its name. */
export function fieldError<C extends FieldCheck>(field: string, check: C, ...said: SaidOf<C>): ApiError {
  const { message, params } = faultOf(check, ...said)
  return new ApiError('invalid_input', `${field}: ${message}`, { metadata: { field, check, params } })
}

interface OtherRefusal {
  readonly says?: string
  readonly error?: 'conflict' | 'access_denied' | 'not_found' | 'unauthorized'
  readonly cause?: unknown
}

/** A refusal of a console API, with its reason by name; `other` is what is not as usual. */
export function reasonError<R extends RefusalReason>(
  reason: R,
  ...[params = {}, other = {}]: R extends RefusalReason ? Said<ParamsOf<(typeof REASONS)[R][1]>, OtherRefusal> : never
): ApiError {
  const [usual, text] = REASONS[reason]
  const { error = usual, says = sentence(text, params), cause } = other
  return new ApiError(error, says, { metadata: { reason, params }, cause })
}

/**
 * PostgreSQL cannot store NUL in a text. Texts to be stored or looked up are refused if they contain it, so that both
 * stores answer alike. Prompts are neither stored nor looked up, and may contain it.
 */
const NUL = '\0'

/** Refuses NUL in a path or query, which is given as it came. */
export function refuseNulInUrl(url: string): void {
  // Node itself refuses the bare character.
  if (url.includes('%00')) throw refusal('url')
}

/** Refuses NUL in a JSON body, except in the members named in `prompts`. */
export function refuseNulInBody(body: Readonly<Record<string, unknown>>, prompts?: ReadonlySet<string>): void {
  for (const name of Object.keys(body)) {
    refuseNulInValue(name, 'body')
    if (prompts?.has(name) !== true) refuseNulInValue(body[name], name)
  }
}

/** `name` is the field that the refusal names. */
export function refuseNulInValue(value: unknown, name: string): void {
  if (typeof value === 'string') {
    if (value.includes(NUL)) throw refusal(name)
  } else if (Array.isArray(value)) {
    for (const item of value) refuseNulInValue(item, name)
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value)) {
      refuseNulInValue(key, name)
      refuseNulInValue(inner, name)
    }
  }
}

function refusal(field: string): ApiError {
  return fieldError(field, 'nul')
}

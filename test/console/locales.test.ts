import { HOLD_REASONS } from '../../src/catalog/price-list.ts'
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { RequestStory } from '../../src/api/cabinet/log-contract.ts'
import type { EntryKind } from '../../src/api/cabinet/money-contract.ts'
import type { Payment } from '../../src/api/cabinet/money-contract.ts'
import type { AuditInvariant } from '../../src/store/audit/audit-store.ts'
import { localeTexts } from '../harness/console-world.ts'
import { ERRORS } from '../../src/base/error-table.ts'
import type { ErrorType } from '../../src/base/errors.ts'
import type { FieldCheck, RefusalReason } from '../../src/base/refusals.ts'
import type { AttemptReason, BillingBasis, EndReason } from '../../src/ledger/generation-record.ts'
import type { CatalogWarningName } from '../../src/catalog/catalog-warning.ts'
import { INPUT_MODALITIES, OUTPUT_MODALITIES } from '../../src/tables/model-types.ts'
import { EVENT_ACTIONS, EVENT_ACTORS } from '../../src/ledger/event-action.ts'
import { METERS } from '../../src/tables/meters.ts'
import { REQUEST_TYPES } from '../../src/tables/model-types.ts'
import { ADMIN_ROUTES } from '../../src/api/admin/contract.ts'
import { CABINET_ROUTES } from '../../src/api/cabinet/contract.ts'

const SRC = join(import.meta.dirname, '../../src')
const LANGUAGES = ['en', 'ru'] as const

type Texts = { readonly [name: string]: string | Texts }
// Objects of texts in JSON.
const LOCALES: readonly (readonly [string, Texts])[] = LANGUAGES.map((name) => [name, localeTexts(name) as Texts])

// Each names every member of its union; else it does not compile.
const ATTEMPT: Readonly<Record<AttemptReason, true>> = {
  connect: true,
  saturated: true,
  unsendable: true,
  timeout: true,
  stall: true,
  status: true,
  cut: true,
  garbage: true,
  error_event: true,
  too_large: true,
  cancelled: true,
  empty: true,
}
const FINISH: Readonly<Record<EndReason, true>> = {
  stop: true,
  length: true,
  tool_calls: true,
  content_filter: true,
  error: true,
}
const PAYMENT: Readonly<Record<Payment['state'], true>> = { pending: true, paid: true, cancelled: true }
const HOLD: Readonly<Record<NonNullable<RequestStory['hold']>['state'], true>> = {
  open: true,
  settled: true,
  voided: true,
  expired: true,
  settled_late: true,
}
const STATUS: Readonly<Record<RequestStory['status'], true>> = { completed: true, error: true, cancelled: true }
const ENTRY: Readonly<Record<EntryKind, true>> = { charge: true, topup: true, refund: true, adjustment: true }
const INVARIANTS = Object.keys({
  I1: true,
  I2: true,
  I3: true,
  I4: true,
  I5: true,
  I6: true,
  I7: true,
  I8: true,
  I9: true,
  I10: true,
  I11: true,
  I12: true,
  I13: true,
  I14: true,
  I15: true,
  I16: true,
  I17: true,
  I18: true,
  I19: true,
  I20: true,
  I21: true,
  I22: true,
} satisfies Readonly<Record<AuditInvariant, true>>)
const BASIS: Readonly<Record<BillingBasis, true>> = {
  provider_usage: true,
  counted: true,
  drained: true,
  free: true,
  provider_cost: true,
}
const CHECKS: Readonly<Record<FieldCheck, true>> = {
  above_context: true,
  absolute_path: true,
  above_zero: true,
  alias: true,
  amount: true,
  bad_email: true,
  bad_timezone: true,
  chat_context: true,
  chat_id: true,
  code_ended: true,
  code_required: true,
  colour: true,
  coming_most: true,
  csv_cell: true,
  csv_empty: true,
  csv_no_column: true,
  csv_no_currency: true,
  csv_no_rate: true,
  csv_open_quote: true,
  currency_code: true,
  cursor: true,
  day: true,
  days_most: true,
  decimal: true,
  empty_key: true,
  endpoint_twice: true,
  external_id: true,
  factory_name: true,
  far_price: true,
  flag: true,
  guessable: true,
  header_name: true,
  header_value: true,
  hours_most: true,
  http_address: true,
  incomplete_price: true,
  ip_range: true,
  items_most: true,
  kopecks: true,
  least: true,
  length: true,
  lines_most: true,
  link: true,
  list: true,
  machine_auth: true,
  masked_key: true,
  member_limit: true,
  metadata_address: true,
  model_id: true,
  name_taken: true,
  names_of: true,
  needs_limit: true,
  no_currency: true,
  no_endpoints: true,
  no_prices: true,
  no_rate: true,
  not_after: true,
  not_negative: true,
  nul: true,
  not_set_up: true,
  not_zero: true,
  object: true,
  of_file: true,
  one_of: true,
  one_credential: true,
  operation_path: true,
  other_adapter: true,
  other_id: true,
  own_key: true,
  parameter_name: true,
  percentage: true,
  picture: true,
  picture_key: true,
  private_address: true,
  requests_most: true,
  required: true,
  rubles_only: true,
  same_prices: true,
  sdk_missing: true,
  sdk_package: true,
  service_key: true,
  slug: true,
  text: true,
  text_length: true,
  time: true,
  time_ahead: true,
  time_of_day: true,
  uncharged: true,
  uncharged_search: true,
  unknown_field: true,
  unknown_group: true,
  unknown_model: true,
  unknown_provider: true,
  used_code: true,
  webhook_address: true,
  whole: true,
  wholes: true,
  wrong: true,
}
const CATALOG_WARNINGS: Readonly<Record<CatalogWarningName, true>> = {
  bundled_unrated: true,
  bundled_waiting: true,
  models_waiting: true,
  markup_below: true,
  markup_below_of: true,
  names_shared: true,
  fallback_unknown: true,
  pictures_unpriced: true,
  price_untold: true,
  steps_missing: true,
  sells_below_cost: true,
  sells_below_cost_when: true,
  unroutable: true,
}
const REFUSALS: Readonly<Record<RefusalReason, true>> = {
  account_missing: true,
  another_needed: true,
  beyond_end: true,
  beyond_own: true,
  beyond_charge: true,
  channel_unconfirmed: true,
  channels_most: true,
  code_unknown: true,
  code_used: true,
  connected: true,
  email_taken: true,
  email_unproven: true,
  external_id_taken: true,
  foreign_page: true,
  group_in_use: true,
  has_administrator: true,
  identity_taken: true,
  key_secrets_most: true,
  keys_most: true,
  last_owner: true,
  last_way_in: true,
  link_dead: true,
  link_not_yours: true,
  mail_unset: true,
  member_already: true,
  maker_needed: true,
  member_keys_over: true,
  members_most: true,
  not_parked: true,
  oidc_refused: true,
  oidc_unset: true,
  owner_stays: true,
  only_administrators: true,
  only_provider: true,
  price_overtaken: true,
  reference_taken: true,
  proof_needed: true,
  role_needed: true,
  scope_needed: true,
  session_stale: true,
  sign_in_first: true,
  sign_in_late: true,
  sign_up_by_mail: true,
  sign_up_closed: true,
  token_name_taken: true,
  totp_needed: true,
  totp_none_new: true,
  status_off: true,
  totp_off: true,
  totp_on: true,
  uncovered: true,
  unknown_id: true,
  wrong_code: true,
  wrong_password: true,
}

const errorTypes: readonly ErrorType[] = Object.entries(ERRORS).map(([name, row]) =>
  'errorType' in row ? row.errorType : (name as ErrorType),
)

/** Bodies of the catalogue and of the settings, whose field names are shown unchanged. */
const AS_THEY_ARE = / \/admin\/v1\/(?:catalog|providers|models|settings)\b/

/** The fields of the bodies that the console sends, from the schemas of its routes. */
function fieldNames(): readonly string[] {
  const routes: readonly (readonly [string, object])[] = [
    ...Object.entries(ADMIN_ROUTES),
    ...Object.entries(CABINET_ROUTES),
  ]
  const names = routes
    .filter(([route]) => !AS_THEY_ARE.test(route))
    .flatMap(([, row]) => ('body' in row ? Object.keys(Object(row.body).properties ?? {}) : []))
  assert.ok(names.length > 40)
  return [...new Set(names)]
}

/**
 * Every closed list of which a page shows a member, and the place of its texts; `whole`: the place has no other texts.
 */
const LISTS: readonly {
  readonly what: string
  readonly of: string
  readonly names: readonly string[]
  readonly whole?: boolean
}[] = [
  { what: 'errors', of: 'error', names: [...new Set(errorTypes)], whole: true },
  {
    what: 'failures to reach the server',
    of: 'failure.types',
    names: ['unreachable', 'unknown', 'released'],
    whole: true,
  },
  { what: 'failures of attempts', of: 'attempt', names: Object.keys(ATTEMPT), whole: true },
  { what: 'reasons of an end', of: 'finish', names: Object.keys(FINISH), whole: true },
  { what: 'bases of a bill', of: 'request', names: Object.keys(BASIS).map((name) => `basis_${name}`) },
  { what: 'checks of fields', of: 'check', names: Object.keys(CHECKS), whole: true },
  { what: 'warnings of the catalogue', of: 'catalog_warning', names: Object.keys(CATALOG_WARNINGS), whole: true },
  { what: 'reasons that a change waits', of: 'held_reason', names: HOLD_REASONS, whole: true },
  { what: 'reasons of a refusal', of: 'refusal', names: Object.keys(REFUSALS), whole: true },
  { what: 'fields of forms', of: 'field', names: fieldNames() },
  {
    what: 'actions of events',
    of: 'action',
    names: EVENT_ACTIONS.map((action) => action.replace('.', '_')),
    whole: true,
  },
  { what: 'actors of events', of: 'actor', names: EVENT_ACTORS, whole: true },
  { what: 'invariants of the audit', of: 'invariant', names: INVARIANTS, whole: true },
  { what: 'states of payments', of: 'money', names: Object.keys(PAYMENT).map((name) => `state_${name}`) },
  { what: 'states of holds', of: 'request', names: Object.keys(HOLD).map((name) => `hold_${name}`) },
  { what: 'statuses of requests', of: 'status', names: Object.keys(STATUS), whole: true },
  { what: 'types of requests', of: 'type', names: REQUEST_TYPES, whole: true },
  { what: 'kinds of entries', of: 'ledger', names: Object.keys(ENTRY) },
  {
    what: 'what models take and give',
    of: 'modality',
    names: [...new Set([...INPUT_MODALITIES, ...OUTPUT_MODALITIES])],
    whole: true,
  },
  { what: 'meters', of: 'meter', names: METERS, whole: true },
]

function textsAt(texts: Texts, path: string): Texts {
  const found = path
    .split('.')
    .reduce<string | Texts | undefined>((at, name) => (typeof at === 'object' ? at[name] : undefined), texts)
  return typeof found === 'object' ? found : {}
}

for (const { what, of, names, whole = false } of LISTS) {
  test(`${what} of the server have a text in both languages`, () => {
    for (const [language, texts] of LOCALES) {
      const known = textsAt(texts, of)
      assert.deepEqual(
        names.filter((name) => typeof known[name] !== 'string' || known[name] === ''),
        [],
        `${language}: ${of}`,
      )
      if (whole) assert.deepEqual(Object.keys(known).toSorted(), names.toSorted(), `${language}: ${of}`)
    }
  })
}

function flat(texts: Texts, path = ''): readonly (readonly [string, string])[] {
  return Object.entries(texts).flatMap(([name, inner]) =>
    typeof inner === 'string' ? [[`${path}${name}`, inner] as const] : flat(inner, `${path}${name}.`),
  )
}

/** Names of products and of headers: they are written in Latin letters in Russian too. */
const LATIN_NAMES = /HTTP-Referer|X-Title|TOLLGATE_\w+|Shift\+Enter|LM Studio|Anthropic Messages|Google Gemini/g

/** The only text for readers of the other language. */
const SAID_IN_ENGLISH = 'shell.switch_language'

test('no Russian text holds a run of English words', () => {
  for (const [language, texts] of LOCALES.filter(([name]) => name === 'ru')) {
    const mixed = flat(texts).filter(
      ([key, text]) =>
        key !== SAID_IN_ENGLISH &&
        /[A-Za-z]{2,}[\s,]+[A-Za-z]{2,}/.test(text.replaceAll(/\{\{\w+\}\}/g, '·').replaceAll(LATIN_NAMES, '·')),
    )
    assert.deepEqual(mixed, [], language)
  }
})

/** Marks that a language writes otherwise, or that a line must not begin with. */
const WRONG_MARKS: Readonly<Record<(typeof LANGUAGES)[number], RegExp>> = {
  en: /["„«»]|'(?!s\b|re\b|t\b)| %|\.\.\.| -(?!-)\s/,
  ru: /["„“”]|'| [—₽%]|\d %|\.\.\.| -(?!-)\s/,
}

test('quotation marks, dashes and units are written as the language writes them', () => {
  for (const [language, texts] of LOCALES) {
    const wrong = flat(texts).filter(
      ([key, text]) => key !== SAID_IN_ENGLISH && WRONG_MARKS[language as keyof typeof WRONG_MARKS].test(text),
    )
    assert.deepEqual(wrong, [], language)
  }
  for (const text of ['a "b"', 'the «key»', '80 %', 'wait...', 'one - two']) assert.match(text, WRONG_MARKS.en)
  for (const text of ['ключ "a"', '5 — не число', '10 ₽', 'ждём...', 'один - два']) assert.match(text, WRONG_MARKS.ru)
})

test('a counted text has every plural form of its language', () => {
  for (const [language, texts] of LOCALES) {
    const forms = new Intl.PluralRules(language).resolvedOptions().pluralCategories
    const found = new Map(flat(texts))
    const counted = [...found.keys()]
      .filter((key) => key.endsWith('_other'))
      .map((key) => key.slice(0, -'_other'.length))
    assert.ok(counted.length > 5)
    assert.deepEqual(
      counted.flatMap((key) => forms.map((form) => `${key}_${form}`)).filter((key) => !found.has(key)),
      [],
      language,
    )
  }
})

/**
 * Refusals of the console's APIs go through `fieldError` and `reasonError`, which name them; a list of the catalogue's
 * problems is named line by line.
 */
test('no refusal of the console is made without its name', () => {
  const bare = ['api/admin', 'api/cabinet']
    .flatMap((folder) => globSync(`${folder}/*.ts`, { cwd: SRC }))
    .flatMap((file) =>
      [
        ...readFileSync(join(SRC, file), 'utf8').matchAll(
          /new ApiError\('(?:invalid_input|conflict|access_denied|unauthorized|not_found)'.*/g,
        ),
      ]
        .filter(([line]) => !line.includes('problems: lines'))
        .map(([line]) => `${file}: ${line}`),
    )
  assert.deepEqual(bare, [])
})

const FINDERS = /(?:getBy(?:Text|Label|Placeholder)\(\s*|getByRole\([^()]*\bname: |\bhasText: )'([^'\n]+)'/g

test('a test finds a text of the console by its key: a changed text breaks no test of one language only', () => {
  const textsIn = (part: Texts): readonly string[] =>
    Object.values(part).flatMap((value) => (typeof value === 'string' ? [value] : textsIn(value)))
  const known = new Set(LOCALES.flatMap(([, all]) => textsIn(all)))
  const root = join(import.meta.dirname, '../..')
  const found = globSync(['test/console/*.ts', 'test/harness/*.ts', 'scripts/*.ts', 'bench/*.ts'], {
    cwd: root,
  }).flatMap((path) =>
    [...readFileSync(join(root, path), 'utf8').matchAll(FINDERS)]
      .filter(([, text = '']) => known.has(text))
      .map(([, text]) => `${path}: '${text}'`),
  )
  assert.deepEqual(found, [])
  for (const text of ["page.getByText('x')", "page.getByRole('button', { name: 'x' })", "row.filter({ hasText: 'x' })"])
    assert.equal([...text.matchAll(FINDERS)].length, 1, text)
})

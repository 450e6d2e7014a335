import { ApiError } from './errors.ts'

type None = Readonly<Record<string, never>>
type Range = { readonly least: number; readonly most: number }

/**
 * The faults of fields in bodies of a console API, with their figures. Each refusal names its fault beside the English
 * sentence, so that a page can show it in its reader's language. A name without a text on the pages does not compile.
 */
export interface FieldChecks {
  readonly absolute_path: { readonly given: string }
  readonly amount: None
  readonly above_context: { readonly given: number; readonly context: number }
  readonly above_zero: None
  readonly alias: { readonly given: string }
  readonly bad_email: { readonly given: string }
  readonly bad_timezone: { readonly given: string }
  readonly chat_context: None
  readonly chat_id: None
  readonly code_ended: None
  readonly code_required: None
  readonly csv_cell: { readonly line: number; readonly column: number }
  readonly csv_empty: None
  readonly csv_no_column: { readonly column: string; readonly names: string }
  readonly csv_no_currency: { readonly line: number }
  readonly csv_no_rate: { readonly line: number; readonly currency: string; readonly day: string }
  readonly csv_open_quote: { readonly line: number }
  readonly currency_code: None
  readonly cursor: None
  readonly day: None
  readonly days_most: { readonly most: number }
  readonly decimal: { readonly most: string }
  readonly empty_key: None
  readonly endpoint_twice: { readonly given: string }
  readonly external_id: None
  readonly factory_name: { readonly given: string }
  readonly far_price: { readonly found: string; readonly usual: string; readonly currency: string }
  readonly flag: None
  readonly guessable: None
  readonly hours_most: { readonly most: number }
  readonly header_name: { readonly given: string }
  readonly header_value: None
  readonly http_address: { readonly given: string }
  readonly incomplete_price: { readonly needs: string }
  readonly ip_range: { readonly given: string }
  readonly items_most: { readonly most: number }
  readonly kopecks: Range
  readonly least: { readonly least: number }
  readonly length: Range & { readonly given: number }
  readonly lines_most: { readonly most: number }
  readonly list: None
  readonly machine_auth: None
  readonly masked_key: { readonly given: string }
  readonly member_limit: { readonly most: number }
  readonly metadata_address: { readonly given: string }
  readonly model_id: { readonly given: string }
  readonly name_taken: { readonly given: string }
  readonly names_of: { readonly known: string; readonly given: string }
  readonly needs_limit: None
  readonly no_currency: None
  readonly no_endpoints: None
  readonly no_prices: None
  readonly no_rate: { readonly currency: string }
  readonly not_after: None
  readonly not_negative: None
  readonly nul: None
  readonly not_set_up: { readonly given: string }
  readonly not_zero: None
  readonly object: None
  readonly of_file: None
  readonly one_credential: None
  readonly one_of: { readonly allowed: string }
  readonly operation_path: { readonly path: string }
  readonly other_adapter: { readonly adapter: string }
  readonly other_id: { readonly path: string }
  readonly own_key: None
  readonly parameter_name: { readonly given: string }
  readonly percentage: None
  readonly picture_key: None
  readonly private_address: { readonly host: string }
  readonly requests_most: { readonly most: number }
  readonly required: None
  readonly rubles_only: None
  readonly sdk_missing: { readonly given: string }
  readonly sdk_package: { readonly given: string }
  readonly service_key: None
  readonly slug: None
  readonly text: None
  readonly text_length: Range
  readonly time: None
  readonly time_of_day: { readonly given: string }
  readonly uncharged: None
  readonly uncharged_search: None
  readonly unknown_field: { readonly known: string }
  readonly unknown_group: { readonly given: string }
  readonly unknown_model: { readonly given: string }
  readonly unknown_provider: { readonly given: string }
  readonly used_code: None
  readonly webhook_address: { readonly given: string }
  readonly whole: Range
  readonly wholes: None
  readonly wrong: None
}
export type FieldCheck = keyof FieldChecks

/** Refusals of a console API that are not about a field, named like `FieldChecks`. */
export interface RefusalReasons {
  readonly account_missing: None
  readonly another_needed: None
  readonly beyond_end: { readonly until: string }
  readonly beyond_own: None
  readonly channel_unconfirmed: None
  readonly channels_most: { readonly most: number }
  readonly code_unknown: None
  readonly code_used: None
  readonly connected: None
  readonly email_taken: { readonly email: string }
  readonly email_unproven: None
  readonly external_id_taken: None
  readonly foreign_page: None
  readonly group_in_use: { readonly accounts: number }
  readonly has_administrator: None
  readonly identity_taken: None
  readonly key_secrets_most: None
  readonly keys_most: { readonly most: number }
  readonly last_owner: None
  readonly last_way_in: None
  readonly link_dead: None
  readonly link_not_yours: { readonly email: string }
  readonly mail_unset: None
  readonly member_already: None
  readonly maker_needed: None
  readonly member_keys_over: None
  readonly members_most: { readonly most: number }
  readonly not_parked: { readonly id: string }
  readonly oidc_refused: None
  readonly owner_stays: None
  readonly oidc_unset: None
  readonly only_administrators: None
  readonly only_provider: None
  readonly price_overtaken: None
  readonly reference_taken: { readonly reference: string }
  readonly proof_needed: { readonly with: string }
  readonly role_needed: { readonly role: string }
  readonly scope_needed: { readonly scope: string }
  readonly session_stale: { readonly minutes: number }
  readonly sign_in_first: None
  readonly sign_in_late: None
  readonly sign_up_closed: None
  readonly token_name_taken: { readonly name: string }
  readonly totp_needed: None
  readonly totp_none_new: None
  readonly totp_off: None
  readonly totp_on: None
  readonly uncovered: None
  readonly unknown_id: { readonly id: string }
  readonly wrong_code: None
  readonly wrong_password: None
}
export type RefusalReason = keyof RefusalReasons

/** A 400 about a field: `what` follows its name. */
export function fieldError<C extends FieldCheck>(
  field: string,
  check: C,
  params: FieldChecks[C],
  what: string,
  message = `${field}: ${what}`,
): ApiError {
  return new ApiError('invalid_input', message, { metadata: { field, check, params } })
}

/** A refusal of a console API, with its reason by name. */
export function reasonError<R extends RefusalReason>(
  errorName: 'conflict' | 'access_denied' | 'not_found' | 'unauthorized',
  reason: R,
  params: RefusalReasons[R],
  message: string,
  cause?: unknown,
): ApiError {
  return new ApiError(errorName, message, { metadata: { reason, params }, cause })
}

/**
 * PostgreSQL keeps no NUL in a text. What may be stored or looked up is refused with one before that, so that both
 * stores answer alike; prompts are neither, and may hold it.
 */
const NUL = '\0'

/** A path or query, as it came. */
export function refuseNulInUrl(url: string): void {
  // Node refuses the character itself.
  if (url.includes('%00')) throw refusal('url')
}

/** A JSON body but for the members named in `prompts`. */
export function refuseNulInBody(body: Readonly<Record<string, unknown>>, prompts?: ReadonlySet<string>): void {
  for (const name of Object.keys(body)) {
    refuseNulInValue(name, 'body')
    if (prompts?.has(name) !== true) refuseNulInValue(body[name], name)
  }
}

/** `name` is the field that the refusal tells of. */
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
  return fieldError(field, 'nul', {}, 'holds the character NUL (U+0000), which only prompts may hold')
}

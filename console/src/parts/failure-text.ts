import i18n from 'i18next'
import type { CatalogProblem } from '../../../src/api/admin/catalog-contract.ts'
import type { StoryAttempt } from '../../../src/api/records/request-story-contract.ts'
import type { ErrorType } from '../../../src/base/errors.ts'
import { ownValue } from '../../../src/base/own-value.ts'
import type { FieldCheck, RefusalReason } from '../../../src/base/refusals.ts'
import type { AttemptReason } from '../../../src/ledger/generation-record.ts'
import { ApiFailure, type FailureType } from '../api/call.ts'
import { format, t } from './words.ts'

const DECIMALS_MAX = 6
const PRICE_DECIMALS_MAX = 20
/** Errors for which the server's message says more than the console's text, since it names the cause. */
const TOLD_BY_SERVER: ReadonlySet<FailureType> = new Set<FailureType>([
  'invalid_json',
  'invalid_filter',
  'invalid_message_format',
  'invalid_message_role',
  'invalid_response_format',
  'invalid_input',
  'invalid_range',
  'model_not_supported',
  'token_limit_exceeded',
  'input_too_long',
  'prompt_too_long',
  'streaming_not_supported',
  'file_upload_error',
  'no_available_provider',
  'access_denied',
  'conflict',
  'maintenance_mode',
  'provider_error',
])

/** The name of an error type in the reader's language. An unknown type, of another release, stays as it is. */
export function errorName(type: ErrorType): string {
  return i18n.exists(`error.${type}`) ? t(`error.${type}`) : type
}

/** The error in the reader's language, with the figures from the answer. */
export function failureText(failure: unknown): string {
  if (!(failure instanceof ApiFailure)) return t('failure.unknown')
  const { reason, params } = failure.metadata
  if (isReason(reason)) return t(`refusal.${reason}`, { replace: paramTexts(params) })
  const field = checkOf(failure)
  if (field !== null) return `${fieldName(field.field)}: ${field.message}`
  const { errorType } = failure
  const name =
    errorType === 'unreachable' || errorType === 'unknown' || errorType === 'released'
      ? t(`failure.types.${errorType}`)
      : errorName(errorType)
  const rest = [
    advice(failure),
    failure.retryAfterSeconds === null ? null : t('failure.retry_after', { count: failure.retryAfterSeconds }),
  ].filter((part) => part !== null && part !== '')
  return rest.length === 0 ? name : `${name}. ${rest.join(' ')}`
}

/** A refusal is no fault of the service, and is not called one. */
export function failureTitle(failure: unknown): string {
  const isRefused = failure instanceof ApiFailure && failure.status >= 400 && failure.status < 500
  return t(isRefused ? 'failure.refused' : 'failure.title')
}

/** The server's message, if it says more than the console's text. Pages show it as a quotation. */
export function serverWords(failure: unknown): string | null {
  if (!(failure instanceof ApiFailure) || !TOLD_BY_SERVER.has(failure.errorType) || failure.message === '') return null
  const { reason, problems } = failure.metadata
  return isReason(reason) || checkOf(failure) !== null || Array.isArray(problems) ? null : failure.message
}

/** What to do about these errors is said with these figures of the answer: tokens are a count, the rest is money. */
const ADVICE = {
  unreachable: [],
  released: [],
  internal_error: [],
  account_deactivated: [],
  api_locked: [],
  content_filtered: [],
  insufficient_balance: ['required', 'available'],
  limit_exceeded: ['spent', 'limit', 'required'],
  input_tokens_exceeded: ['input_tokens', 'max_input_tokens'],
} as const satisfies Readonly<Partial<Record<FailureType, readonly string[]>>>

function advice({ errorType, metadata }: ApiFailure): string | null {
  if (!Object.hasOwn(ADVICE, errorType)) return null
  // It is one of the names.
  const name = errorType as keyof typeof ADVICE
  const figures: readonly string[] = ADVICE[name]
  if (figures.some((figure) => typeof metadata[figure] !== 'number')) return null
  const text = (figure: string): string =>
    figure.endsWith('tokens') ? number(metadata[figure]) : format.money(Number(metadata[figure]))
  const { limit_of: owner, resets_at: resets } = name === 'limit_exceeded' ? metadata : {}
  return [
    t(`failure.advice.${name}`, { replace: Object.fromEntries(figures.map((figure) => [figure, text(figure)])) }),
    ...(owner === 'account' ? [t('failure.advice.limit_of_account')] : []),
    ...(typeof resets === 'string' ? [t('failure.advice.limit_resets', { when: format.dateTime(resets) })] : []),
  ].join(' ')
}

function number(value: unknown, decimals = DECIMALS_MAX): string {
  return format.number(Number(value), decimals)
}

/**
 * The refused field of a form with its message. null = the form has no such field, and shows the failure as a whole.
 */
export function fieldFailure<F extends string>(
  failure: unknown,
  fields: readonly F[],
): { readonly field: F; readonly message: string } | null {
  const found = checkOf(failure)
  const field = fields.find((name) => name === found?.field)
  return found === null || field === undefined ? null : { field, message: found.message }
}

function checkOf(failure: unknown): { readonly field: string; readonly message: string } | null {
  if (!(failure instanceof ApiFailure)) return null
  const { field, check, params } = failure.metadata
  if (typeof field !== 'string' || !isCheck(check)) return null
  return { field, message: checkText(check, params) }
}

/** One refused line of a catalogue: its place, and the problem in the reader's language or in the server's words. */
interface ProblemText {
  readonly path: string
  readonly text: string | null
  readonly words: string
}

export function problemTexts(failure: unknown): { readonly lines: readonly ProblemText[]; readonly more: number } {
  const { problems, problem_count: count } = failure instanceof ApiFailure ? failure.metadata : {}
  // The server sends this name with these fields.
  const lines = Array.isArray(problems) ? (problems as readonly CatalogProblem[]) : []
  return {
    lines: lines.map(({ path, message, check, params }) => ({
      path,
      text: isCheck(check) ? checkText(check, params) : null,
      words: message,
    })),
    more: Math.max(0, Number(count ?? 0) - lines.length),
  }
}

function isCheck(name: unknown): name is FieldCheck {
  return typeof name === 'string' && i18n.exists(`check.${name}`)
}

function isReason(name: unknown): name is RefusalReason {
  return typeof name === 'string' && i18n.exists(`refusal.${name}`)
}

function checkText(check: FieldCheck, params: unknown): string {
  return t(`check.${check}`, { replace: paramTexts(params) })
}

/**
 * The reader's name for a field; `rate_limit.window` is found by its last part. A field that the console has no text
 * for keeps its API name.
 */
export function fieldName(field: string): string {
  const key = `field.${field.slice(field.lastIndexOf('.') + 1)}`
  return i18n.exists(key) ? t(key as 'field.name') : field
}

/** These figures are texts with exact decimals, since a float cannot represent every price. */
const DECIMALS: ReadonlySet<string> = new Set(['markup', 'loss', 'sell', 'cost', 'found', 'usual', 'most'])

/** The figures of a check, a refusal or a warning in the reader's number format. */
export function paramTexts(params: unknown): Record<string, string> {
  const text = (name: string, value: unknown): string =>
    typeof value === 'number' ? number(value) : DECIMALS.has(name) ? number(value, PRICE_DECIMALS_MAX) : String(value)
  return Object.fromEntries(Object.entries(params ?? {}).map(([name, value]) => [name, text(name, value)]))
}

/** The types of errors with their names in the chosen language, by name. */
export function errorNames(): { value: string; label: string }[] {
  // Each language has a text for each type.
  const { error } = i18n.getResourceBundle(i18n.language, 'translation') as { readonly error: Record<string, string> }
  return Object.entries(error)
    .map(([value, label]) => ({ value, label }))
    .toSorted((one, other) => one.label.localeCompare(other.label, i18n.language))
}

/** Why an attempt failed, with the status of its answer; empty = it succeeded. */
export function attemptText({ reason, status }: Pick<StoryAttempt, 'reason' | 'status'>): string {
  if (reason === null) return ''
  const why =
    reason === 'status' && status !== null
      ? t(`attempt_status.${statusKind(status)}`)
      : isAttemptReason(reason)
        ? t(`attempt.${reason}`)
        : errorName(reason)
  return status === null ? why : `${why} (${status})`
}

/** What a provider's status says of a request. */
function statusKind(status: number): 'request' | 'access' | 'gone' | 'busy' | 'broken' | 'other' {
  if ([400, 413, 415, 422].includes(status)) return 'request'
  if ([401, 402, 403].includes(status)) return 'access'
  if (status === 404) return 'gone'
  if ([429, 503, 529].includes(status)) return 'busy'
  return status >= 500 ? 'broken' : 'other'
}

/** What helps after these errors of a request; after the others, sending it again. */
const REMEDIES = {
  invalid_input: 'change',
  request_too_large: 'shorten',
  input_tokens_exceeded: 'shorten',
  content_filtered: 'reword',
  provider_timeout: 'wait',
} as const satisfies Readonly<Partial<Record<ErrorType, string>>>

/** What the customer can do about a failed request. */
export function remedyText(type: ErrorType): string {
  return t(`remedy.${(ownValue(REMEDIES, type) as (typeof REMEDIES)[keyof typeof REMEDIES] | undefined) ?? 'again'}`)
}

function isAttemptReason(reason: string): reason is AttemptReason {
  return i18n.exists(`attempt.${reason}`)
}

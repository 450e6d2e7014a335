import i18n from 'i18next'
import type { ErrorType } from '../../../src/errors.ts'
import { ApiFailure, type FailureType } from '../api/call.ts'

/** Their messages name what was wrong in words of the API, which no page can know. */
const TOLD_BY_SERVER: ReadonlySet<FailureType> = new Set<FailureType>([
  'invalid_json', 'invalid_filter', 'invalid_message_format', 'invalid_message_role', 'invalid_response_format', 'invalid_input', 'invalid_range', 'model_not_supported', 'token_limit_exceeded',
  'input_too_long', 'prompt_too_long', 'streaming_not_supported', 'file_upload_error', 'no_available_provider', 'access_denied', 'conflict', 'maintenance_mode', 'provider_error',
])

/** The error type in the reader's language; as it stands where another release knows more of them. */
export function errorName(type: ErrorType): string {
  return i18n.exists(`failure.types.${type}`) ? i18n.t(`failure.types.${type}`) : type
}

/** What went wrong, in the reader's language, with the figures of the answer. */
export function failureText(failure: unknown): string {
  if (!(failure instanceof ApiFailure)) return i18n.t('failure.unknown')
  const name = i18n.t(`failure.types.${failure.errorType}`)
  const rest = [advice(failure), failure.retryAfterSeconds === null ? null : i18n.t('failure.retry_after', { count: failure.retryAfterSeconds })].filter((part) => part !== null && part !== '')
  return rest.length === 0 ? name : `${name}. ${rest.join(' ')}`
}

/** The server's own words, where they say more than the text; they are shown as a quotation. */
export function serverWords(failure: unknown): string | null {
  return failure instanceof ApiFailure && TOLD_BY_SERVER.has(failure.errorType) && failure.message !== '' ? failure.message : null
}

function advice({ errorType, metadata }: ApiFailure): string | null {
  const rub = (name: string): string => figure(metadata[name], { style: 'currency', currency: 'RUB', maximumFractionDigits: 6 })
  const has = (...names: readonly string[]): boolean => names.every((name) => typeof metadata[name] === 'number')
  switch (errorType) {
    case 'unreachable':
    case 'internal_error':
      return i18n.t(`failure.advice.${errorType}`)
    case 'insufficient_balance':
      return has('required', 'available') ? i18n.t('failure.advice.insufficient_balance', { required: rub('required'), available: rub('available') }) : null
    case 'limit_exceeded': {
      if (!has('spent', 'limit', 'required')) return null
      const resets = metadata['resets_at']
      const text = i18n.t('failure.advice.limit_exceeded', { spent: rub('spent'), limit: rub('limit'), required: rub('required') })
      return typeof resets === 'string' ? `${text} ${i18n.t('failure.advice.limit_resets', { when: new Intl.DateTimeFormat(i18n.language, { dateStyle: 'medium', timeStyle: 'short' }).format(new Date(resets)) })}` : text
    }
    case 'input_tokens_exceeded':
      return has('input_tokens', 'max_input_tokens') ? i18n.t('failure.advice.input_tokens_exceeded', { input: figure(metadata['input_tokens']), most: figure(metadata['max_input_tokens']) }) : null
    default:
      return null
  }
}

function figure(value: unknown, options: Intl.NumberFormatOptions = {}): string {
  return new Intl.NumberFormat(i18n.language, options).format(Number(value))
}

/** The field that an `invalid_input` message names at its start, and what it says of it. */
export function fieldFailure(failure: unknown): { readonly field: string; readonly message: string } | null {
  if (!(failure instanceof ApiFailure) || failure.errorType !== 'invalid_input') return null
  const named = /^([a-z_.]{1,40}): (.+)$/s.exec(failure.message)
  return named?.[1] === undefined || named[2] === undefined ? null : { field: named[1], message: named[2] }
}

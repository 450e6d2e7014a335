import type { AttemptFailure } from '../ports/attempt-failure.ts'
import { objectOf } from '../wire/raw-json.ts'
import type { UpstreamHeaders } from '../wire/transport.ts'
import { upstreamFailure } from '../wire/upstream-error.ts'

/** `{err_code, err_msg, request_id}`. */
export function deepgramError(status: number, body: unknown, headers: UpstreamHeaders, nowMs: number): AttemptFailure {
  const error = objectOf(body)
  return upstreamFailure(
    status,
    error?.['err_msg'] === undefined ? body : { error: { code: error['err_code'], message: error['err_msg'] } },
    headers,
    nowMs,
  )
}

export function deepgramCredentials(apiKey: string | null): Readonly<Record<string, string>> {
  return apiKey === null ? {} : { authorization: `Token ${apiKey}` }
}

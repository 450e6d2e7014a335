import type { AttemptFailure } from '../ports/attempt-failure.ts'
import { listOf, objectOf, textOf } from '../../protocols/wire/raw-json.ts'
import type { UpstreamHeaders } from '../../protocols/wire/transport.ts'
import { upstreamFailure } from '../wire/upstream-error.ts'

/** `{detail: {status, message}}`, a bare text, or a list of problems of the request. */
export function elevenlabsError(
  status: number,
  body: unknown,
  headers: UpstreamHeaders,
  nowMs: number,
): AttemptFailure {
  const raw = objectOf(body)?.['detail']
  const detail = objectOf(raw) ?? objectOf(listOf(raw)[0])
  const message = textOf(detail?.['message']) ?? textOf(detail?.['msg']) ?? textOf(raw)
  return upstreamFailure(
    status,
    message === null ? body : { error: { code: detail?.['status'] ?? detail?.['type'], message } },
    headers,
    nowMs,
  )
}

export function elevenlabsCredentials(apiKey: string | null): Readonly<Record<string, string>> {
  return apiKey === null ? {} : { 'xi-api-key': apiKey }
}

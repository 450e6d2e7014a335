import type { KeptStream } from '../../../kinds/answer/writer.ts'
import type { ChunkIdentity } from '../../../kinds/chat/answer.ts'
import { failureOf, responseBody } from './response-body.ts'
import type { RequestEcho } from './request.ts'

/** The Response of a stream for a separate request: from its last event, otherwise as far as it is known. */
export function keptResponse(
  identity: ChunkIdentity,
  echo: RequestEcho,
  { lastEvent, ended }: KeptStream,
  live: 'queued' | 'in_progress' = 'in_progress',
): Record<string, unknown> {
  const response = ended === null || lastEvent === null ? null : responseIn(lastEvent)
  if (response !== null) return response
  const error = ended?.error ?? null
  const failure = error === null ? null : failureOf(error)
  const status = ended === null ? live : failure === null ? 'cancelled' : 'failed'
  return responseBody(identity, echo, {
    status,
    output: [],
    usage: ended?.usage ?? null,
    serviceTier: null,
    completedAt: null,
    incompleteReason: null,
    failure,
  })
}

/** A Response before its answer; `queued` = it is asked for in the background. */
export function newResponse(identity: ChunkIdentity, echo: RequestEcho): Record<string, unknown> {
  return keptResponse(identity, echo, { lastEvent: null, ended: null }, echo.background ? 'queued' : 'in_progress')
}

/** Only the last event of a complete stream contains the Response. */
function responseIn(event: Buffer): Record<string, unknown> | null {
  const line = event
    .toString('utf8')
    .split('\n')
    .find((text) => text.startsWith('data: '))
  // Our own writer made it: events with a Response have only this form.
  const { type, response } = JSON.parse(line?.slice('data: '.length) ?? '{}') as {
    type?: string
    response?: Record<string, unknown>
  }
  return response === undefined || type === 'response.created' || type === 'response.in_progress' ? null : response
}

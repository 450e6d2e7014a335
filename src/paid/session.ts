import type { IncomingHttpHeaders } from 'node:http'

/** Headers with which agents identify a conversation, the most reliable first (clients.md D-14.7). */
const SESSION_HEADERS = [
  'x-claude-code-session-id',
  'session-id',
  'session_id',
  'thread-id',
  'x-session-affinity',
] as const
const CHARACTERS_MAX = 1_024

/**
 * The conversation that a client identifies other than by `session_id` and `X-Session-Id`; null = none. It keeps a
 * prompt cache warm and is not logged.
 */
export function conversationOf(headers: IncomingHttpHeaders, json: unknown): string | null {
  const body = recordOf(json)
  return (
    named(body['prompt_cache_key']) ??
    named(SESSION_HEADERS.map((name) => headers[name]).find((value) => named(value) !== null)) ??
    named(recordOf(body['metadata'])['user_id'])
  )
}

function named(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value.slice(0, CHARACTERS_MAX) : null
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  // Any object can be read by name.
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}

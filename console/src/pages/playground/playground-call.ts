import { ApiFailure, send } from '../../api/call.ts'

const BASE = '/cabinet/v1/playground'

/** Calls the customer API with a key of the user, whose secret the console does not have. */
export function playgroundCall(keyId: string, path: string, body: object, signal: AbortSignal): Promise<Response> {
  return send(`${BASE}/${path}`, {
    method: 'POST',
    credentials: 'same-origin',
    headers: { 'content-type': 'application/json', 'x-tollgate-key-id': keyId },
    body: JSON.stringify(body),
    signal,
  })
}

/** Calls, and reads the answer as JSON. */
export async function playgroundAnswer(
  keyId: string,
  path: string,
  body: object,
  signal: AbortSignal,
): Promise<unknown> {
  return (await playgroundCall(keyId, path, body, signal)).json()
}

export function playgroundRead(keyId: string, path: string, signal: AbortSignal): Promise<Response> {
  return send(`${BASE}/${path}`, { credentials: 'same-origin', headers: { 'x-tollgate-key-id': keyId }, signal })
}

/** An address that the browser itself loads, such as that of a video. */
export function playgroundAddress(keyId: string, path: string, query: Readonly<Record<string, string>>): string {
  return `${BASE}/${path}?${new URLSearchParams({ ...query, key_id: keyId }).toString()}`
}

/** The cost in RUB; null = the answer has none. */
export function costOf(answer: unknown): number | null {
  const usage = fieldOf(answer, 'usage')
  const cost = fieldOf(usage, 'cost')
  return typeof cost === 'number' ? cost : null
}

export function fieldOf(value: unknown, name: string): unknown {
  // Every object can be read by name; each value is unknown again.
  return value !== null && typeof value === 'object' ? (value as Readonly<Record<string, unknown>>)[name] : undefined
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Whether the user stopped the call. */
export function isStop(failure: unknown): boolean {
  return !(failure instanceof ApiFailure) && failure instanceof DOMException && failure.name === 'AbortError'
}

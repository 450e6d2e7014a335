import type { Answer, ApiClient } from './api-client.ts'
import { found } from './patience.ts'

const LIMIT_MS = 10_000

/** The log row of a generation; it is written a moment after the client has its answer or has left. */
export function loggedRow(server: ApiClient, key: string, generationId: unknown): Promise<Answer['body']> {
  return found(LIMIT_MS, `the log row of ${String(generationId)}`, async () => {
    const { body } = await server.request('GET', `/v1/generation?generation_id=${String(generationId)}`, { key })
    return body.total === 1 ? body.logs[0] : null
  })
}

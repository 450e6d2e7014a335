import assert from 'node:assert/strict'
// oxlint-disable-next-line eslint/no-restricted-imports -- polls a job as a customer does
import { setTimeout as delay } from 'node:timers/promises'
import { patient } from './patience.ts'
import type { Answer, ApiClient } from './api-client.ts'

const POLL_MS = 50

/** Creates a job and returns its record. */
export async function createVideo(
  tollgate: ApiClient,
  key: string,
  body: Record<string, unknown>,
): Promise<Record<string, unknown> & { readonly id: string }> {
  const answer = await tollgate.post('/v1/videos', key, body)
  assert.equal(answer.status, 202, answer.text)
  return answer.body
}

/** Polls a job, as a client does, until it has one of these statuses. */
export async function videoUntil(
  tollgate: ApiClient,
  key: string,
  id: string,
  status: string | readonly string[],
  limitMs = 20_000,
): Promise<Answer['body']> {
  const wanted = typeof status === 'string' ? [status] : status
  const startedMs = performance.now()
  for (;;) {
    const { body } = await tollgate.get(`/v1/videos?id=${id}`, key)
    if (wanted.includes(body.status)) return body
    assert.ok(
      performance.now() - startedMs < patient(limitMs),
      `job ${id} is still ${JSON.stringify(body)}, wanted ${wanted.join(' or ')}`,
    )
    assert.ok(
      ['pending', 'in_progress'].includes(body.status),
      `job ${id} ended as ${JSON.stringify(body)}, wanted ${wanted.join(' or ')}`,
    )
    await delay(POLL_MS)
  }
}

export async function balanceOf(
  tollgate: ApiClient,
  key: string,
): Promise<{ readonly balance: number; readonly reserved: number }> {
  const { body } = await tollgate.get('/v1/user/balance', key)
  return { balance: body.balance, reserved: body.reserved }
}

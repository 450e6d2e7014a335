import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FoldedAnswer } from './chat-fold.ts'
import type { Replay } from './replay.ts'
import type { serve } from './served.ts'

type World = ReturnType<typeof serve<Replay>>

interface LastRequest {
  readonly path: string
  readonly json: unknown
  readonly headers: Record<string, string>
}

/** The last request that the upstream got. */
export async function lastRequest({ upstream }: World): Promise<LastRequest> {
  const last = (await upstream.requests()).at(-1)
  assert.ok(last)
  return last
}

/** A test that an adapter refuses each content, streamed or not, before anything is sent or charged. */
export function unsendableTest(
  world: World,
  ask: (body: Record<string, unknown>) => Promise<FoldedAnswer>,
  cases: readonly (readonly [fields: Readonly<Record<string, unknown>>, message: RegExp])[],
): void {
  test('a request that the protocol cannot express is a 400 that reaches no provider and costs nothing', async () => {
    const credits = (): Promise<unknown> =>
      world.tollgate.request('GET', '/v1/credits', { key: world.key }).then(({ body }) => body)
    const sent = (await world.upstream.requests()).length
    const before = await credits()
    for (const [fields, message] of cases) {
      for (const stream of [false, true]) {
        const { status, error } = await ask({ ...fields, stream })
        assert.deepEqual([status, error?.metadata['error_type']], [400, 'invalid_input'])
        assert.match(error?.message ?? '', message)
      }
    }
    assert.equal((await world.upstream.requests()).length, sent)
    assert.deepEqual(await credits(), before)
  })
}

/** A body whose only message has one part. */
export function onePart(part: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return { messages: [{ role: 'user', content: [part] }] }
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConsoleClient, signedUp } from '../harness/console-client.ts'
import { percentile } from '../harness/figures.ts'
import { form } from '../harness/form.ts'
import { startTollgate } from '../harness/server.ts'
import { lasting } from '../harness/lasting.ts'

const PAIRS = form({ short: 50, long: 120 })
const WARM_UP = 10
const ROUNDS_MAX = form({ short: 8, long: 6 })
/** Share of the whole time of a sign-in. */
const DIFFERENCE_MAX = 0.05
/** For one person, below the hourly failures after which a password is not checked. */
const FAILURES_OF_ONE = 50

let attempts = 0

// Each attempt comes from another address, so that the limit of an address is not reached.
const tollgate = await lasting(startTollgate({ env: { TRUSTED_PROXIES: '127.0.0.1/32', TOLLGATE_LOG_LEVEL: 'error' } }))

async function failureMs(email: string): Promise<number> {
  attempts += 1
  const startedMs = performance.now()
  const answer = await new ConsoleClient(tollgate).request(
    'POST',
    'sign-in',
    { email, password: 'not the password at all' },
    { 'x-forwarded-for': `10.${attempts >> 16}.${(attempts >> 8) & 255}.${attempts & 255}` },
  )
  const ms = performance.now() - startedMs
  assert.equal(answer.status, 401, answer.text)
  return ms
}

const median = (values: readonly number[]): number => percentile(values, 0.5)

test('a failed sign-in takes as long for an unknown e-mail as for a wrong password', async () => {
  const users = await Promise.all(
    Array.from(
      { length: Math.ceil((ROUNDS_MAX * PAIRS + WARM_UP) / FAILURES_OF_ONE) },
      async (_value, index) => (await signedUp(tollgate, `known-${index}@example.com`)).email,
    ),
  )
  const known = (turn: number): string => users[turn % users.length] ?? ''
  for (let turn = 0; turn < WARM_UP; turn += 1) await failureMs(known(turn))
  const differences: number[] = []
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const wrong: number[] = []
    const unknown: number[] = []
    for (let turn = 0; turn < PAIRS; turn += 1) {
      // In turn, each as often first as second, so that a slow moment of the machine affects both.
      const both: (readonly [number[], string])[] = [
        [wrong, known(round * PAIRS + turn)],
        [unknown, `nobody-${round}-${turn}@example.com`],
      ]
      for (const [times, email] of turn % 2 === 0 ? both : both.toReversed()) times.push(await failureMs(email))
    }
    differences.push(Math.abs(median(wrong) - median(unknown)) / median(wrong))
    // A busy machine may spoil a round; a real difference shows in all.
    if ((differences.at(-1) ?? 1) <= DIFFERENCE_MAX) return
  }
  assert.fail(
    `the medians differ by ${differences.map((share) => `${(share * 100).toFixed(1)} %`).join(', ')} in ${ROUNDS_MAX} rounds`,
  )
})

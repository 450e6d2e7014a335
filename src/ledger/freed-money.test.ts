import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freedMoney, type FreeMoney } from './free-hour.ts'

/** Time passes with each wait; `looks` has the answers of the database, of which the last one repeats. */
async function waited(amountMicro: bigint, looks: readonly FreeMoney[]) {
  let nowMs = 0
  let asked = 0
  let given = 0
  const clock = {
    now: () => nowMs,
    monotonic: () => nowMs,
    after: (delayMs: number, task: () => void) => {
      nowMs += delayMs
      task()
      return () => undefined
    },
  }
  const look = async (): Promise<FreeMoney> => looks[Math.min(asked++, looks.length - 1)] ?? assert.fail()
  await freedMoney({ clock, look, giveBack: async () => void (given += 1) }, 'acc_1', amountMicro)
  return { nowMs, given }
}

const free = (availableMicro: bigint, setAsideMicro: bigint): FreeMoney => ({ availableMicro, setAsideMicro })

test('money that is there, and money that is nowhere, is not waited for', async () => {
  assert.deepEqual(await waited(5n, [free(5n, 3n)]), { nowMs: 0, given: 0 })
  assert.deepEqual(await waited(9n, [free(5n, 3n)]), { nowMs: 0, given: 0 })
})

test('money that is set aside is asked for and waited for, 8 s at most', async () => {
  assert.deepEqual(await waited(8n, [free(5n, 3n), free(6n, 2n), free(8n, 0n)]), { nowMs: 500, given: 2 })
  assert.deepEqual(await waited(8n, [free(5n, 3n)]), { nowMs: 8_000, given: 32 })
})

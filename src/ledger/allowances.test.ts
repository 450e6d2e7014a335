import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Allowances, type OpenDraw } from './allowances.ts'
import type { AfterDraw, HoldRequest, HoldRow, HoldState } from './ledger-store.ts'

const AMOUNT_MICRO = 100n
const PERIODS = { day: '2026-06-03', week: '2026-06-01', month: '2026-06-01' }

function holdOf(generationId: string): HoldRequest {
  return {
    op: 'hold',
    generationId,
    accountId: 'acc_1',
    keyId: 'key_1',
    amountMicro: 10n,
    priceVersion: 1,
    subject: { type: 'chat', model: 'm', requestId: 'r', streamed: false },
    periods: PERIODS,
    atMs: 0,
    leaseUntilMs: 60_000,
    node: 'node-1',
  }
}

/** The row as the database has it. */
function allowance(state: HoldState): HoldRow {
  const { periods, subject } = holdOf('')
  return {
    id: 'alw-1',
    accountId: 'acc_1',
    keyId: 'key_1',
    amountMicro: AMOUNT_MICRO,
    state,
    priceVersion: 1,
    subject,
    periods,
    node: 'node-1',
    leaseUntilMs: 60_000,
    placedAtMs: 0,
    endedAtMs: null,
    chargedMicro: null,
    shortfallMicro: null,
    bookedDay: '',
    intact: true,
  }
}

/** A busy key with an allowance that the database has confirmed. */
function atWork(): Allowances {
  const clock = { now: () => 0, monotonic: () => 0, after: () => () => undefined }
  const allowances = new Allowances({ clock, node: 'node-1', nodes: () => 1 })
  assert.equal(allowances.wish(holdOf('gen-1')), null)
  const wish = allowances.wish(holdOf('gen-2'))
  assert.ok(wish)
  allowances.answered(wish, { status: 'allowed', allowance: allowance('open') }, 0)
  return allowances
}

function drawn(allowances: Allowances, generationId: string): OpenDraw {
  assert.ok(allowances.draw(holdOf(generationId)))
  return allowances.take(generationId) ?? assert.fail()
}

function end(allowances: Allowances, draw: OpenDraw, left: AfterDraw['allowance']): void {
  allowances.ended(draw, 0, { left, chargedMicro: 1n })
}

test('an allowance goes on while the database says what is left of it', () => {
  const allowances = atWork()
  end(allowances, drawn(allowances, 'gen-3'), allowance('open'))
  assert.ok(allowances.draw(holdOf('gen-4')))
  assert.deepEqual(allowances.idle(), [])
})

for (const [said, left] of [
  ['nothing, as its answer was lost or the journal has the end', undefined],
  ['that nothing more may be drawn', null],
  ['that it is over', allowance('expired')],
] as const)
  test(`after an end of which the database says ${said}, nothing is drawn from the allowance, and it is given back`, () => {
    const allowances = atWork()
    const running = drawn(allowances, 'gen-3')
    end(allowances, drawn(allowances, 'gen-4'), left)
    assert.equal(allowances.draw(holdOf('gen-5')), false)
    assert.equal(allowances.carried(running).nodes, null, 'What is still drawn puts nothing back into it.')
    assert.deepEqual(
      allowances.idle().map(({ wantedMicro, keepMicro }) => [wantedMicro, keepMicro]),
      [[0n, 10n]],
    )
  })

test('an allowance whose new size the database has not answered may have any: nothing is drawn from it', () => {
  const allowances = atWork()
  assert.ok(allowances.draw(holdOf('gen-3')))
  const wish = allowances.wish(holdOf('gen-4'))
  assert.ok(wish)
  allowances.answered(wish, null, 0)
  assert.equal(allowances.draw(holdOf('gen-5')), false)
  assert.deepEqual(allowances.ids, [wish.generationId], 'Its lease is renewed until it is given back.')
  assert.deepEqual(
    allowances.idle().map(({ wantedMicro, keepMicro }) => [wantedMicro, keepMicro]),
    [[0n, 10n]],
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { flag, nullable, object, optional, rub, text, time } from './schema.ts'
import { wire } from './wire-route.ts'

const Bill = object({
  id: text(),
  external_id: nullable(text()),
  amount: rub(),
  refunded: nullable(rub()),
  paid_at: nullable(time()),
  due_at: time(),
  open: flag(),
  note: optional(text()),
})
const RECORD = {
  dueAtMs: 0,
  paidAtMs: null,
  amountMicro: 1_500_000n,
  refundedMicro: null,
  externalId: null,
  id: 'bill_1',
  secret: 'never shown',
}

test('a record is shown by its schema: its order, its names, RUB and ISO times, and nothing else', () => {
  const shown = wire(Bill, RECORD, { open: true })
  assert.equal(
    JSON.stringify(shown),
    '{"id":"bill_1","external_id":null,"amount":1.5,"refunded":null,"paid_at":null,"due_at":"1970-01-01T00:00:00.000Z","open":true}',
  )
  assert.equal(wire(Bill, RECORD, { open: false, id: 'another' }).id, 'another')
})

test('what a record lacks, or has in another type, does not compile unless it is given', () => {
  // @ts-expect-error `open` is missing.
  wire(Bill, RECORD)
  // @ts-expect-error The time of `due_at` may be null, which the schema does not allow.
  wire(Bill, { ...RECORD, dueAtMs: null as number | null }, { open: true })
  // @ts-expect-error The schema's `id` is a text.
  wire(Bill, { ...RECORD, id: 7 }, { open: true })
})

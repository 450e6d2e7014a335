import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AnswerBudget, type AnswerHold } from './answer-budget.ts'

test('answers take no more than there is, but for the first, and each of them comes to its end, however they grow and end', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 4 }), { maxLength: 8 }),
      fc.array(fc.nat(7), { maxLength: 60 }),
      (answers, turns) => {
        const budget = new AnswerBudget(10)
        const readings = answers.map((steps) => new Reading(budget.hold(), steps))
        const firstMax = Math.max(0, ...answers.map((steps) => steps.reduce((sum, step) => sum + step, 0)))
        const look = (): void => {
          assert.equal(
            budget.bytes,
            readings.reduce((sum, { held }) => sum + held, 0),
          )
          assert.ok(budget.bytes <= 10 + firstMax)
        }
        for (const turn of turns) {
          readings[turn % Math.max(1, readings.length)]?.step()
          look()
        }
        for (let round = 0; readings.some(({ over }) => !over); round += 1) {
          assert.ok(round < 100, 'they wait for each other')
          for (const reading of readings) reading.step()
          look()
        }
        assert.deepEqual([budget.bytes, budget.isFull], [0, false])
      },
    ),
    { numRuns: 500 },
  )
})

class Reading {
  over = false
  readonly #hold: AnswerHold
  readonly #steps: readonly number[]
  #at = 0
  #bytes = 0
  #waits = false

  constructor(hold: AnswerHold, steps: readonly number[]) {
    this.#hold = hold
    this.#steps = steps
  }

  get held(): number {
    return this.over ? 0 : this.#hold.bytes
  }

  step(): void {
    if (this.#waits || this.over) return
    const step = this.#steps[this.#at]
    if (step === undefined) {
      this.over = true
      this.#hold.release()
      return
    }
    this.#at += 1
    this.#bytes += step
    this.#waits = !this.#hold.reach(this.#bytes, () => {
      this.#waits = false
    })
  }
}

test('waiting readers are let in in turn, none before an earlier one; when they fill the budget again it is full', () => {
  const budget = new AnswerBudget(10)
  const letIn: string[] = []
  const [first, second, third, small] = [budget.hold(), budget.hold(), budget.hold(), budget.hold()]
  assert.equal(
    first.reach(8, () => undefined),
    true,
  )
  assert.equal(
    second.reach(6, () => letIn.push('second')),
    false,
  )
  assert.equal(budget.isFull, false)
  assert.equal(
    third.reach(5, () => letIn.push('third')),
    false,
  )
  assert.equal(
    small.reach(1, () => letIn.push('small')),
    false,
    'there is room for it, but others were first',
  )
  assert.equal(budget.isFull, true)
  first.release()
  assert.deepEqual(letIn, ['second'])
  third.release()
  assert.deepEqual(letIn, ['second', 'small'])
  assert.deepEqual([budget.bytes, budget.isFull], [7, false])
  second.release()
  second.release()
  small.release()
  assert.equal(budget.bytes, 0)
})

test('a reader that waits for room is woken by its abort signal, and takes none', async () => {
  const budget = new AnswerBudget(10)
  const first = budget.hold()
  await first.reached(10, new AbortController().signal)
  const ending = new AbortController()
  const second = budget.hold()
  const waiting = second.reached(5, ending.signal)
  ending.abort(new Error('too late'))
  await assert.rejects(waiting, /too late/)
  second.release()
  first.release()
  assert.equal(budget.bytes, 0)
})

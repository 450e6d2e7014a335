import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { form } from '../harness/form.ts'
import { TestClock } from '../store/ledger-fixture.ts'
import { drive, job, newWorld, runnerOf, VIDEO } from './video-world.ts'
import { freshFolder } from '../harness/lasting.ts'

const directory = freshFolder()
/**
 * A process that dies at the k-th time it does something: before it is done, or after it is done and before the process
 * knows it.
 */
class Death {
  reached = false
  /** Calls that began before it. */
  #running = 0
  readonly #name: string
  readonly #moment: 'before' | 'after'
  #left: number

  constructor(name: string, at: number, moment: 'before' | 'after') {
    this.#name = name
    this.#left = at
    this.#moment = moment
  }

  /** The process does nothing more. */
  get isOver(): boolean {
    return this.reached && this.#running === 0
  }

  wrap<T extends object>(target: T, name: string): T {
    return new Proxy(target, {
      get: (object, property) => {
        const value: unknown = Reflect.get(object, property)
        if (typeof value !== 'function') return value
        return (...values: unknown[]): unknown =>
          this.#call(() => Reflect.apply(value, object, values), `${name}.${String(property)}`)
      },
    })
  }

  async #call(work: () => unknown, name: string): Promise<unknown> {
    const never = new Promise(() => undefined)
    if (this.reached) return never
    if (name === this.#name) this.#left -= 1
    if (name !== this.#name || this.#left > 0) return this.#counted(work)
    this.reached = true
    if (this.#moment === 'after') await this.#counted(work)
    return never
  }

  async #counted(work: () => unknown): Promise<unknown> {
    this.#running += 1
    try {
      return await work()
    } finally {
      this.#running -= 1
    }
  }
}

/** One run that dies at the k-th time, and a second one that finishes. Returns whether the first died. */
async function liveTwice(
  name: string,
  at: number,
  moment: 'before' | 'after',
): Promise<{ readonly died: boolean; readonly status: string }> {
  const world = await newWorld(join(directory, `${moment}-${name}-${at}`))
  const { bench, provider, customer } = world
  const death = new Death(name, at, moment)
  const first = runnerOf(world, bench.clock, (target, part) => death.wrap(target, part))
  // A dead process also never answers its own start.
  void first.start()
  await drive(bench.clock, async () => death.isOver || (await job(world)).status === 'completed')
  await bench.auditClean()
  const submittedBefore = provider.submissions
  const phase = (await job(world)).phase
  const clock = new TestClock(bench.clock.now())
  const second = runnerOf(world, clock)
  await second.start()
  // A parked job waits for its deadline.
  await drive(
    clock,
    async () => !['pending', 'in_progress'].includes((await job(world)).status),
    phase === 'sending' ? 60_000 : 500,
  )
  await second.stop()
  const end = await job(world)
  await bench.auditClean()
  const money = await bench.money(customer.accountId)
  assert.ok(provider.submissions <= 1, `${name} ${at}: submitted ${provider.submissions} times`)
  const rows = await bench.store.generations.list({ accountId: customer.accountId, limit: 10, offset: 0 })
  assert.equal(rows.total, 1, 'one log row')
  if (phase === 'sending') {
    assert.equal(end.status, 'expired', `${name} ${at}`)
    assert.equal(provider.submissions, submittedBefore, 'what may have arrived is never repeated')
    assert.deepEqual(money, { available: 1_000n, held: 0n })
  } else {
    assert.equal(end.status, 'completed', `${name} ${at} in phase ${phase}`)
    assert.deepEqual(money, { available: 700n, held: 0n })
    const file = await bench.store.files.find(`${world.id}-0`)
    assert.equal(file?.bytes, VIDEO.length)
  }
  await bench.ledger.stop()
  await bench.store.close()
  return { died: death.reached, status: end.status }
}

const THINGS = [
  'jobs.release',
  'jobs.claim',
  'jobs.move',
  'jobs.nextDueMs',
  'provider.submit',
  'provider.poll',
  'provider.open',
  'files.put',
  'ledger.settle',
]
/** In the short form it dies at the first time, in the long one at the others too. */
const TIMES_MAX = form({ short: 1, long: 3 })

for (const moment of ['before', 'after'] as const) {
  for (const name of THINGS) {
    test(`a process that dies ${moment} ${name}: the same job goes on, is submitted and charged at most once`, async () => {
      for (let at = 1; at <= TIMES_MAX; at += 1) {
        const { died, status } = await liveTwice(name, at, moment)
        assert.ok(died || at > 1, `${name} is something that a job needs`)
        if (name === 'provider.submit' && died)
          assert.equal(status, 'expired', 'a submission whose answer was lost is parked')
        if (!died) break
      }
    })
  }
}

import { test } from 'node:test'
import fc from 'fast-check'
import type { LimitReset } from '../../src/ledger/ledger-store.ts'
import type { Store } from '../../src/store/store.ts'
import { auditAll, COMMANDS } from './ledger-commands.ts'
import { Bench, NOON_MS, TestClock, type Customer } from './ledger-fixture.ts'
import { LedgerModel } from './ledger-model.ts'
import type { Nodes } from './ledger-together.ts'

const CUSTOMERS: readonly {
  readonly balance: bigint
  readonly limit: bigint | null
  readonly reset: LimitReset | null
}[] = [
  { balance: 100n, limit: null, reset: null },
  { balance: 100n, limit: 70n, reset: null },
  { balance: 100n, limit: 40n, reset: 'daily' },
]
const COMMANDS_MAX = 50
/** Shrinking runs the commands on a store again and again: a failure is reported after this time at the latest. */
const SHRINK_MS = 20_000

export interface PropertyRuns {
  readonly runs: number
  readonly nodesMax: number
  /** Largest duration of so many runs, ms. */
  readonly budgetMs: number
}

/**
 * Any sequence of commands, one by one or concurrent, on one or several nodes, gives the model's answers, and leaves
 * valid books (guarantees.md 3.4). `TOLLGATE_MODEL_RUNS` sets the number of runs.
 */
export function storeProperties(open: () => Promise<Store>, { runs, nodesMax, budgetMs }: PropertyRuns): void {
  const asked = Number(process.env['TOLLGATE_MODEL_RUNS'] ?? runs)
  test(
    `${asked} runs of up to ${COMMANDS_MAX} commands answer what the model answers`,
    { timeout: (budgetMs * asked) / runs + 2 * SHRINK_MS },
    async () => {
      let failedAtMs: number | null = null
      await fc.assert(
        fc.asyncProperty(
          fc.commands([...COMMANDS], { maxCommands: COMMANDS_MAX, size: 'max' }),
          fc.integer({ min: 1, max: nodesMax }),
          async (commands, count) => {
            // From now on every shrinking run passes at once.
            if (failedAtMs !== null && performance.now() - failedAtMs > SHRINK_MS) return
            try {
              await played(open, commands, count)
            } catch (thrown) {
              failedAtMs ??= performance.now()
              throw thrown
            }
          },
        ),
        { numRuns: asked },
      )
    },
  )
}

async function played(
  open: () => Promise<Store>,
  commands: Iterable<fc.AsyncCommand<LedgerModel, Nodes>>,
  count: number,
): Promise<void> {
  const store = await open()
  const clock = new TestClock(NOON_MS)
  const benches = Array.from({ length: count }, (_, index) => new Bench(store, clock, `node-${index + 1}`))
  const [bench] = benches
  try {
    if (bench === undefined) return
    const customers: Customer[] = []
    for (const { balance, limit, reset } of CUSTOMERS)
      customers.push(
        await bench.customer(balance, {
          ...(limit === null ? {} : { limitMicro: limit }),
          ...(reset === null ? {} : { limitReset: reset }),
        }),
      )
    const model = new LedgerModel(NOON_MS, CUSTOMERS)
    const real: Nodes = { benches, customers, running: benches.map(() => new Set<string>()) }
    await fc.asyncModelRun(() => ({ model, real }), commands)
    await auditAll(model, real)
  } finally {
    for (const { ledger } of benches) await ledger.stop()
    await store.close()
  }
}

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { form } from '../harness/form.ts'
import { MUTANTS } from './mutants.ts'
import { REGRESSION_SEEDS } from './regression-seeds.ts'
import { explain, seedsFrom, simulate } from './simulate.ts'

const SEEDS = Number(process.env['TOLLGATE_SIM_SEEDS'] ?? form({ short: 400, long: 3_000 }))
const SOURCE = join(import.meta.dirname, '../../src')
/** One of each kind that is caught within a few universes; the command hunts all of them. */
const SAMPLE = [
  'settle without a look at the state',
  'money in floats',
  'a cut answer is charged',
  'no sweeper',
  'the end is shown before the settle is durable',
  'another provider is asked after the answer has begun',
  'journal replay drops what is insured',
  'usage_day loses late charges',
  'the output bound ignores n',
  'the per-request price is taken once for several prompts',
]
const SAMPLE_SEEDS = 300

/** Fails with the schedule of the first violated universe and the line that repeats it. */
async function assertClean(seeds: readonly number[]): Promise<number> {
  const { violated, charged, universes } = await simulate({ seeds, mutant: null, traced: false, untilViolated: true })
  const [first] = violated
  if (first !== undefined) {
    const { violated: again } = await simulate({ seeds: [first.seed], mutant: null, traced: true, untilViolated: true })
    assert.fail(explain(again[0] ?? first))
  }
  assert.equal(universes, seeds.length)
  return charged
}

test('universes that once showed a bug show it no more', async () => {
  await assertClean(REGRESSION_SEEDS.map(({ seed }) => seed))
})

test(`${SEEDS} universes: every invariant holds, each answer whose end was seen is charged once, none that was cut`, async () => {
  const threads = Math.min(2, availableParallelism())
  const share = Math.ceil(SEEDS / threads)
  const charged = await Promise.all(
    Array.from({ length: threads }, (_, index) =>
      assertClean(seedsFrom(1 + index * share, Math.min(share, SEEDS - index * share))),
    ),
  )
  assert.ok(charged.reduce((sum, count) => sum + count, 0) > SEEDS, 'too few answers were charged to say anything')
})

test('a universe follows from its seed alone', async () => {
  const schedules = await Promise.all(
    [1, 2].map(() =>
      simulate({ seeds: seedsFrom(1, SAMPLE_SEEDS), mutant: 'no sweeper', traced: true, untilViolated: true }),
    ),
  )
  const [first, second] = schedules.map(({ violated }) => violated.map(({ schedule }) => schedule))
  assert.ok((first?.[0]?.length ?? 0) > 50)
  assert.deepEqual(first, second)
})

test('every planted bug still has its place in the source', () => {
  for (const { name, file, find } of MUTANTS)
    assert.equal(
      readFileSync(join(SOURCE, file), 'utf8').split(find).length,
      2,
      `'${name}' does not stand once in src/${file}`,
    )
  assert.equal(new Set(MUTANTS.map(({ name }) => name)).size, MUTANTS.length)
  assert.ok(MUTANTS.length >= 25)
})

for (const name of SAMPLE) {
  test(`planted bug: ${name}: is caught`, async () => {
    const { violated } = await simulate({
      seeds: seedsFrom(1, SAMPLE_SEEDS),
      mutant: name,
      traced: false,
      untilViolated: true,
    })
    assert.equal(violated.length, 1)
  })
}

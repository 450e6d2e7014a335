import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { form, oneOf } from '../harness/form.ts'
import { placesOf } from './mutant-hooks.ts'
import type { Mutant } from './mutant.ts'
import { MUTANTS } from './mutants.ts'
import { REGRESSION_SEEDS } from './regression-seeds.ts'
import { explain, seedsFrom, simulate } from './simulate.ts'

const SEEDS = Number(process.env['TOLLGATE_SIM_SEEDS'] ?? form({ short: 120, long: 3_000 }))
const ROOT = join(import.meta.dirname, '../..')
/**
 * One of each kind that is found within a few universes: the short form plants three of them, the long one the others,
 * and the command hunts all.
 */
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
  'the service tier that was asked for is charged, whatever was served',
  'hours include their end',
  'a hold is for the cheapest condition',
]
const SAMPLE_SEEDS = 300

function mutantNamed(name: string): Mutant {
  const mutant = MUTANTS.find((one) => one.name === name)
  assert.ok(mutant !== undefined, `there is no mutant '${name}'`)
  return mutant
}

/** Fails with the schedule of the first universe with violations, and the command that repeats it. */
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

test('a universe follows only from its seed', async () => {
  const schedules = await Promise.all(
    [1, 2].map(() =>
      simulate({
        seeds: seedsFrom(1, SAMPLE_SEEDS),
        mutant: mutantNamed('no sweeper'),
        traced: true,
        untilViolated: true,
      }),
    ),
  )
  const [first, second] = schedules.map(({ violated }) => violated.map(({ schedule }) => schedule))
  assert.ok((first?.[0]?.length ?? 0) > 50)
  assert.deepEqual(first, second)
})

test('every planted bug still has its place in the source', () => {
  for (const mutant of MUTANTS)
    assert.equal(
      placesOf(mutant, readFileSync(join(ROOT, mutant.file), 'utf8')),
      1,
      `'${mutant.name}' does not stand once in ${mutant.file}`,
    )
  assert.equal(new Set(MUTANTS.map(({ name }) => name)).size, MUTANTS.length)
  assert.ok(MUTANTS.length >= 25)
})

const UNPLANTED: readonly (readonly [what: string, mutant: Mutant, told: RegExp])[] = [
  [
    'whose text is not in its file',
    { name: 'gone', file: 'src/ledger/ledger-core.ts', find: 'no such text', replace: '' },
    /its text stands 0 times/,
  ],
  [
    'of a file that is not loaded',
    { name: 'elsewhere', file: 'src/cli/run.ts', find: 'x', replace: '' },
    /does not load src\/cli\/run\.ts/,
  ],
  [
    'that is no program',
    {
      name: 'broken',
      file: 'src/ledger/ledger-core.ts',
      find: 'export class LedgerBatch',
      replace: 'export class class LedgerBatch',
    },
    /SyntaxError/,
  ],
]
for (const [what, mutant, told] of UNPLANTED) {
  test(`a planted bug ${what} is an error, and counts as not caught`, async () => {
    await assert.rejects(simulate({ seeds: seedsFrom(1, 1), mutant, traced: false, untilViolated: true }), told)
  })
}

for (const name of oneOf(4, SAMPLE)) {
  test(`planted bug: ${name}: is caught`, async () => {
    const { violated } = await simulate({
      seeds: seedsFrom(1, SAMPLE_SEEDS),
      mutant: mutantNamed(name),
      traced: false,
      untilViolated: true,
    })
    assert.equal(violated.length, 1)
  })
}

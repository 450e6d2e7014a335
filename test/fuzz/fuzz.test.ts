import assert from 'node:assert/strict'
import { test } from 'node:test'
import { form } from '../harness/form.ts'
import { fuzz } from './run.ts'
import { TARGETS } from './targets.ts'

const ROUNDS = form({ short: 500, long: 3_000 })

/** The short form of `npm run fuzz`. */
for (const [name, target] of Object.entries(TARGETS)) {
  test(`S8: ${name}, ${ROUNDS} rounds`, () => {
    assert.deepEqual(fuzz(name, target, { firstSeed: 1, runs: ROUNDS, minutes: 1 }), { rounds: ROUNDS, findings: [] })
  })
}

test('a finding is reported with the seed that repeats it', () => {
  const found = fuzz('price', (random) => assert.ok(random.below(100) > 0, 'a finding'), {
    firstSeed: 7,
    runs: 1_000,
    minutes: 1,
  })
  const seed = Number(/seed (\d+)/.exec(found.findings[0] ?? '')?.[1])
  assert.match(found.findings[0] ?? '', new RegExp(`a finding[^]*--target price --seed ${seed} --runs 1$`))
  assert.equal(
    fuzz('price', (random) => assert.ok(random.below(100) > 0), { firstSeed: seed, runs: 1, minutes: 1 }).findings
      .length,
    1,
  )
})

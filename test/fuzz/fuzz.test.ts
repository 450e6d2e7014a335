import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fuzz } from './run.ts'
import { TARGETS } from './targets.ts'

/** The short form of `npm run fuzz`. */
for (const [name, target] of Object.entries(TARGETS)) {
  test(`S8: ${name}, 3,000 rounds`, () => {
    assert.deepEqual(fuzz(name, target, { firstSeed: 1, runs: 3_000, minutes: 1 }), { rounds: 3_000, findings: [] })
  })
}

test('what is found is told with the seed that repeats it', () => {
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

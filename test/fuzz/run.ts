import { parseArgs } from 'node:util'
import { Random } from '../sim/random.ts'
import { TARGETS, type Target } from './targets.ts'

const USAGE = 'npm run fuzz -- [--minutes N] [--target NAME] [--seed S] [--runs N]'
const FINDINGS_MAX = 5

/** Runs each target for its time, each round with another seed; exit 1 if something was found. */
export function fuzz(
  name: string,
  target: Target,
  { firstSeed, runs, minutes }: { readonly firstSeed: number; readonly runs: number; readonly minutes: number },
): { readonly rounds: number; readonly findings: readonly string[] } {
  const findings: string[] = []
  const untilMs = performance.now() + minutes * 60_000
  let rounds = 0
  for (; rounds < runs && findings.length < FINDINGS_MAX; rounds += 1) {
    if (rounds % 256 === 0 && performance.now() > untilMs) break
    const seed = firstSeed + rounds
    try {
      target(new Random(seed))
    } catch (thrown) {
      findings.push(
        `${name}, seed ${seed}: ${thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)}\nRepeat it: npm run fuzz -- --target ${name} --seed ${seed} --runs 1`,
      )
    }
  }
  return { rounds, findings }
}

function main(): number {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '10' },
      target: { type: 'string' },
      seed: { type: 'string' },
      runs: { type: 'string' },
      help: { type: 'boolean' },
    },
  })
  const chosen = Object.entries(TARGETS).filter(([name]) => values.target === undefined || name === values.target)
  if (values.help === true || chosen.length === 0) {
    console.log(`${USAGE}\nTargets: ${Object.keys(TARGETS).join(', ')}`)
    return values.help === true ? 0 : 2
  }
  // Another first seed each day, printed so that it can be repeated.
  const firstSeed = Number(values.seed ?? Math.floor(Date.now() / 1_000))
  let found = 0
  for (const [name, target] of chosen) {
    const startedMs = performance.now()
    const { rounds, findings } = fuzz(name, target, {
      firstSeed,
      runs: Number(values.runs ?? Number.MAX_SAFE_INTEGER),
      minutes: Number(values.minutes),
    })
    for (const finding of findings) console.log(finding)
    console.log(
      `${name}: ${rounds} rounds from seed ${firstSeed} in ${((performance.now() - startedMs) / 1_000).toFixed(0)} s, ${findings.length} findings`,
    )
    found += findings.length
  }
  return found === 0 ? 0 : 1
}

if (import.meta.main) process.exitCode = main()

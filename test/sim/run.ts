import { parseArgs } from 'node:util'
import type { Mutant } from './mutant.ts'
import { MUTANTS } from './mutants.ts'
import { REGRESSION_SEEDS } from './regression-seeds.ts'
import { explain, seedsFrom, simulate } from './simulate.ts'

const USAGE = 'npm run sim -- [--seeds N] [--from S] [--threads T] [--trace] [--mutants [part of a name]]'
/** Universes after which a mutant counts as not found. */
const MUTANT_SEEDS = 3_000
const SHOWN_MAX = 5

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      seeds: { type: 'string' },
      from: { type: 'string' },
      threads: { type: 'string' },
      trace: { type: 'boolean' },
      mutants: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  })
  if (values.help === true) {
    console.log(USAGE)
    return 0
  }
  const number = (text: string | undefined, otherwise: number): number =>
    text === undefined ? otherwise : Math.max(1, Number(text))
  const threads = number(values.threads, 1)
  const from = number(values.from, 1)
  if (values.mutants === true)
    return hunt(
      MUTANTS.filter(({ name }) => positionals.every((part) => name.includes(part))),
      from,
      number(values.seeds, MUTANT_SEEDS),
      threads,
    )
  return play(from, number(values.seeds, 3_000), threads, values.trace === true)
}

async function play(from: number, count: number, threads: number, traced: boolean): Promise<number> {
  const started = performance.now()
  const share = Math.ceil(count / threads)
  const jobs = Array.from({ length: threads }, (_, index) =>
    seedsFrom(from + index * share, Math.min(share, count - index * share)),
  )
  const parts = await Promise.all(jobs.map((seeds) => simulate({ seeds, mutant: null, traced, untilViolated: false })))
  const violated = parts.flatMap((part) => part.violated)
  for (const { seed } of violated.slice(0, SHOWN_MAX)) {
    const { violated: again } = await simulate({ seeds: [seed], mutant: null, traced: true, untilViolated: true })
    for (const verdict of again) console.log(explain(verdict))
  }
  const sum = (of: (part: (typeof parts)[number]) => number): number =>
    parts.reduce((total, part) => total + of(part), 0)
  const seconds = (performance.now() - started) / 1_000
  console.log(
    `${sum(({ universes }) => universes)} universes, ${sum(({ requests }) => requests)} requests, ${sum(({ charged }) => charged)} charged, ${sum(({ steps }) => steps)} events in ${seconds.toFixed(1)} s: ${violated.length} violated`,
  )
  if (violated.length > 0) console.log(`Seeds: ${violated.map(({ seed }) => seed).join(' ')}`)
  return violated.length === 0 ? 0 : 1
}

/** Runs universes with each mutant until one finds it, and prints that seed. */
async function hunt(mutants: readonly Mutant[], from: number, count: number, threads: number): Promise<number> {
  const waiting = [...mutants]
  let survivors = 0
  let broken = 0
  const hunter = async (): Promise<void> => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const hunted = await simulate({
        // Those that once showed a bug are first, and see rare ones.
        seeds: [...REGRESSION_SEEDS.map(({ seed }) => seed), ...seedsFrom(from, count)],
        mutant,
        traced: false,
        untilViolated: true,
      }).catch((thrown: unknown) => String(thrown))
      if (typeof hunted === 'string') {
        broken += 1
        console.log(`ERROR          ${mutant.name}\n                 ${hunted.split('\n')[0] ?? ''}`)
        continue
      }
      const [caught] = hunted.violated
      if (caught === undefined) survivors += 1
      console.log(
        caught === undefined
          ? `SURVIVED       ${mutant.name}`
          : `seed ${String(caught.seed).padStart(5)}     ${mutant.name}\n                 ${caught.violations[0]?.split('\n')[0] ?? ''}`,
      )
    }
  }
  await Promise.all(Array.from({ length: threads }, hunter))
  console.log(
    `${mutants.length - survivors - broken} of ${mutants.length} planted bugs were caught${broken === 0 ? '' : `; ${broken} could not be planted`}`,
  )
  return survivors + broken === 0 ? 0 : 1
}

process.exitCode = await main()

import { parseArgs } from 'node:util'
import { createTokenCounter } from '../../src/plan/token-count.ts'
import { Disk } from './disk.ts'
import { playUniverse } from './universe.ts'

const { values } = parseArgs({ options: { seeds: { type: 'string', default: '3000' }, from: { type: 'string', default: '1' }, trace: { type: 'boolean', default: false } } })
const disk = await Disk.open()
const tokens = createTokenCounter(() => 0, () => 0)
tokens.warm()
const from = Number(values.from)
const started = performance.now()
let requests = 0, charged = 0, steps = 0
for (let seed = from; seed < from + Number(values.seeds); seed += 1) {
  const verdict = await playUniverse(seed, { disk, tokens, traced: values.trace })
  requests += verdict.requests; charged += verdict.charged; steps += verdict.steps
  if (values.trace) console.log(verdict.schedule.join('\n'))
  if (verdict.violations.length > 0) { console.log(`seed ${seed}`, verdict.violations.slice(0,4)); if (!process.env['GO']) break }
}
console.log(`${requests} requests, ${charged} charged, ${steps} steps in ${((performance.now() - started) / 1000).toFixed(1)} s`)

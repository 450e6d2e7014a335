import { parseArgs } from 'node:util'
import { report, soak } from './soak.ts'

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '60' } } })
const done = await soak(Number(values.minutes) * 60_000, (line) => console.log(line))
console.log(report(done))
for (const wrong of done.wrong.slice(0, 5)) console.log(wrong)
// reliability.md R14.
const good =
  done.endBytes <= done.warmBytes * 1.05 &&
  done.heldMicro === 0 &&
  done.leakedDescriptors <= 0 &&
  done.violations === 0 &&
  done.wrong.length === 0
process.exitCode = good ? 0 : 1

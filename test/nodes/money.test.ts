import { test } from 'node:test'
import { NodeBench } from '../harness/node-bench.ts'
import { moneyContract } from './money-contract.ts'

const bench = await NodeBench.start({ valkey: false })
if (bench === null) test.skip('money over nodes: no PostgreSQL on this machine')
else moneyContract('money over nodes', bench)

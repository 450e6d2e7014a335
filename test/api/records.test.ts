import { after } from 'node:test'
import { gateway } from '../harness/gateway.ts'
import { recordTests } from './record-tests.ts'

const server = await gateway()

after(() => server.stop())

recordTests(() => [server, server])

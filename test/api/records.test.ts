import { gateway } from '../harness/gateway.ts'
import { recordTests } from './record-tests.ts'

const server = await gateway()

recordTests(() => [server, server])

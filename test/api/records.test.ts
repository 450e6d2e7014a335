import { after, before } from 'node:test'
import { gateway, type Gateway } from '../harness/gateway.ts'
import { recordTests } from './record-tests.ts'

let server: Gateway

before(async () => {
  server = await gateway()
})

after(() => server.stop())

recordTests(() => [server, server])

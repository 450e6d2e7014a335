import { after, before } from 'node:test'
import { startInProcess, type InProcessServer } from '../harness/in-process.ts'
import { recordTests } from './record-tests.ts'

let server: InProcessServer

before(async () => {
  server = await startInProcess()
})

after(() => server.stop())

recordTests(() => [server, server])

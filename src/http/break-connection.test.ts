import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { breakConnection } from './slow-readers.ts'

/** Both ends of one connection. */
async function pair(context: TestContext): Promise<{ readonly served: Socket; readonly client: Socket }> {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A listening TCP server has an address object.
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [served] = (await once(server, 'connection')) as [Socket]
  context.after(() => {
    client.destroy()
    served.destroy()
    server.close()
  })
  return { served, client }
}

test('an open connection is broken with RST', async (context) => {
  const { served, client } = await pair(context)
  const failed = once(client, 'error')
  breakConnection(served)
  await once(served, 'close')
  const [error] = (await failed) as [NodeJS.ErrnoException]
  assert.equal(error.code, 'ECONNRESET')
})

test('a connection that is being ended is closed too: no socket is left open', async (context) => {
  const { served } = await pair(context)
  served.on('error', (error) => assert.fail(error))
  served.end()
  breakConnection(served)
  await once(served, 'close')
})

test('a connection whose last bytes are not read is broken with RST', async (context) => {
  const { served, client } = await pair(context)
  client.pause()
  served.end(Buffer.alloc(64 << 20))
  const failed = once(client, 'error')
  breakConnection(served)
  await once(served, 'close')
  client.resume()
  const [error] = (await failed) as [NodeJS.ErrnoException]
  assert.equal(error.code, 'ECONNRESET')
})

import { after, before } from 'node:test'
import { startInProcess, type InProcessServer } from './in-process.ts'

type Account = Awaited<ReturnType<InProcessServer['createAccount']>>

interface Served<Upstream> {
  readonly upstream: Upstream
  readonly tollgate: InProcessServer
  readonly account: Account
  /** Of the account. */
  readonly key: string
}

interface Closable {
  close(): Promise<void>
}

/**
 * A server in the process of the tests of the calling file, with one upstream and one customer, whose `balance` is in
 * RUB. Both run from before the first of these tests until after the last.
 */
export function serve<Upstream extends Closable>(
  start: () => Promise<Upstream>,
  catalog: (upstream: Upstream) => string,
  balance = 1_000,
): Served<Upstream> {
  let running: Omit<Served<Upstream>, 'key'> | null = null
  const now = (): Omit<Served<Upstream>, 'key'> => {
    if (running === null) throw new Error('The server runs only during the tests.')
    return running
  }
  before(async () => {
    const upstream = await start()
    const tollgate = await startInProcess({ catalog: catalog(upstream) })
    running = { upstream, tollgate, account: await tollgate.createAccount({ balance }) }
  })
  after(async () => {
    await now().tollgate.stop()
    await now().upstream.close()
  })
  return {
    get upstream() {
      return now().upstream
    },
    get tollgate() {
      return now().tollgate
    },
    get account() {
      return now().account
    },
    get key() {
      return now().account.key
    },
  }
}

/** The same with only the sandbox as its provider. */
export function serveSandbox(catalog = '', balance = 1_000): Omit<Served<Closable>, 'upstream'> {
  return serve(
    async () => ({ close: async () => undefined }),
    () => catalog,
    balance,
  )
}

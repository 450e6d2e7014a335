import { after, before } from 'node:test'
import type { Browser } from 'playwright-core'
import { browserSkip, openBrowser } from './browser.ts'
import { buildConsole, promote, signUp, type Customer } from './console-world.ts'
import { startTollgate, type Tollgate } from './server.ts'

/** A server with a built console, a browser, and an operator of it. */
export interface OperatorConsole {
  readonly tollgate: Tollgate
  readonly browser: Browser
  readonly owner: Customer
}

/** Opens it before the tests of a file and closes it after them; where no browser is, the tests are skipped. */
export function operatorConsole(): { readonly skip: ReturnType<typeof browserSkip>; readonly world: OperatorConsole } {
  const skip = browserSkip()
  // Filled before the first test.
  const world = {} as { -readonly [Part in keyof OperatorConsole]: OperatorConsole[Part] }
  before(async () => {
    if (skip !== false) return
    buildConsole()
    world.tollgate = await startTollgate({ env: { TOLLGATE_LOG_LEVEL: 'error' } })
    world.browser = await openBrowser()
    world.owner = await promote(world.tollgate, await signUp(world.tollgate, 'root@example.com'))
  })
  after(async () => {
    if (skip !== false) return
    await world.browser.close()
    await world.tollgate.stop()
  })
  return { skip, world }
}

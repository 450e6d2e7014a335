import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConsoleMessage } from 'playwright-core'
import { CONSOLE_PAGES } from '../../console/console-pages.ts'
import { visitor } from '../../harness/browser.ts'
import { browser, chat, enter, makeKey, promote, serveConsole, signUp, tollgate } from '../../harness/console-world.ts'
import { oneOf } from '../../harness/form.ts'
import { paced } from '../../harness/patience.ts'

/** What is read does not move while a page loads, and nothing is loaded ahead in vain. */

/** Google's limit for a good page, and ours for the first pages, whose parts come from several answers. */
const SHIFT_MAX = 0.1
const HOME_SHIFT_MAX = 0.05
/** Each answer comes later than the one before, so that no part of a page arrives with another. */
const LATER_MS = 60

const SHIFT = `new Promise((resolve) => {
  let sum = 0
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) sum += entry.value
  }).observe({ type: 'layout-shift', buffered: true })
  setTimeout(() => resolve(sum), 100)
})`

const skip = await serveConsole()

const customer = await signUp(tollgate, 'ann@example.com')
const { key } = await makeKey(tollgate, customer, { name: 'backend', limit: 50 })
const generation = (await chat(tollgate, key, 'Hello', { 'x-title': 'Notes' })).headers['x-generation-id'] ?? ''
await chat(tollgate, key, 'sandbox: status=500')
const operator = await promote(tollgate, await signUp(tollgate, 'root@example.com', { name: 'Root' }))

function pathOf(route: string): string {
  return route
    .replace('/log/$id', `/log/${generation}`)
    .replace('/model/$', '/model/sandbox/chat')
    .replace('$id', customer.accountId)
}

for (const width of oneOf(1, [390, 1280])) {
  test(
    `no page moves what is shown while it loads, or preloads what it does not use (${width} px)`,
    { skip },
    async () => {
      const problems: string[] = []
      for (const who of ['customer', 'operator'] as const) {
        const guest = await visitor(browser, tollgate.url, { width, height: 800 })
        const { page } = guest
        const warn = (message: ConsoleMessage): void => {
          if (message.type() === 'warning' && message.text().includes('preload')) problems.push(message.text())
        }
        page.on('console', warn)
        await enter(guest.context, tollgate, who === 'customer' ? customer : operator)
        let asked = 0
        await page.route(/\/(?:cabinet|admin)\/v1\//, async (route) => {
          asked += 1
          await paced(LATER_MS * (asked % 8), 'answers that come one after another')
          await route.continue().catch(() => undefined)
        })
        for (const { route } of CONSOLE_PAGES.filter((one) => one.who === who)) {
          asked = 0
          await page.goto(`${tollgate.url}${pathOf(route)}`)
          await guest.settled()
          const shift = await page.evaluate<number>(SHIFT)
          const most = route === '/' || route === '/operator' ? HOME_SHIFT_MAX : SHIFT_MAX
          if (shift > most) problems.push(`${route}: ${shift.toFixed(3)}`)
        }
        page.off('console', warn)
        await guest.close()
      }
      assert.deepEqual(problems, [])
    },
  )
}

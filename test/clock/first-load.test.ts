import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LOOKS, visitor, type Visitor } from '../harness/browser.ts'
import {
  chat,
  enter,
  makeKey,
  signUp,
  type Customer,
  serveConsole,
  tollgate,
  browser,
} from '../harness/console-world.ts'
import { form, oneOf } from '../harness/form.ts'
import { patient } from '../harness/patience.ts'
import { startTollgate } from '../harness/server.ts'

const FIRST = { bytes: 241_300, requests: 12 }
/** Of a browser that opens a link to an inner page, with the calendar, the forms and the chart. */
const DEEP = { bytes: 352_000, requests: 28 }
const CHART = 'main [role=slider] svg path, main [role=slider] svg rect'
const LOADS = [
  ['/usage', CHART],
  ['/log', '[role=row]'],
  ['/keys', 'td'],
  ['/playground', 'textarea:visible'],
] as const
/** The profiles "Fast 4G" and "Slow 4G" of Chromium's developer tools; the latter's latency is that of Lighthouse. */
const LINES = {
  'fast 4G': { latency: 165, downloadThroughput: (9_000_000 * 0.9) / 8, uploadThroughput: (1_500_000 * 0.9) / 8 },
  'slow 4G': { latency: 150, downloadThroughput: 1_600_000 / 8, uploadThroughput: 750_000 / 8 },
} as const
/** From the request for the page: something is painted; the customer's figures are. */
const MS_MAX: Readonly<Record<keyof typeof LINES, readonly [painted: number, content: number]>> = {
  'fast 4G': [1_000, 1_500],
  'slow 4G': [1_000, 3_000],
}
/** What a customer opens, and the content that it is opened for. */
const TIMED = form({
  short: [['/', 'main [data-lead=true]']],
  long: [
    ['/', 'main [data-lead=true]'],
    ['/usage', 'main [data-lead=true]'],
    ['/log', 'main [data-record]'],
  ],
} as const)
const TRIES_MAX = 4
/** Prints every time instead of comparing them: for docs/performance.md, on a machine that does nothing else. */
const TIMES_ARE_TOLD = process.env['TOLLGATE_TIMES'] !== undefined
/** Runs before the page's scripts: when something was painted first, and when the content of the page was. */
const watch = (content: string): string => `
new PerformanceObserver((list) => { for (const { name, startTime } of list.getEntries()) if (name === 'first-contentful-paint') window.paintedMs = startTime }).observe({ type: 'paint', buffered: true })
const look = () => { if (document.querySelector('${content}') !== null) requestAnimationFrame(() => { window.contentMs = performance.now() }); else requestAnimationFrame(look) }
requestAnimationFrame(look)`

const TIMES = `new Promise((resolve) => {
  const look = () => (window.contentMs === undefined ? requestAnimationFrame(look) : resolve([window.paintedMs, window.contentMs]))
  look()
})`

const skip = await serveConsole(() => startTollgate())

const customer = await signUp(tollgate, 'ann@example.com')
const { key } = await makeKey(tollgate, customer, { name: 'backend' })
await chat(tollgate, key, 'Hello')

/** A browser with an empty cache; close its context. */
async function newcomer(look: (typeof LOOKS)[number], who: Customer | null): Promise<Visitor> {
  const guest = await visitor(browser, tollgate.url, look)
  if (who !== null) await enter(guest.context, tollgate, who)
  return guest
}

/** Of a browser with an empty cache on such a line. */
async function timesOf(
  look: (typeof LOOKS)[number],
  line: (typeof LINES)[keyof typeof LINES],
  path: string,
  content: string,
): Promise<readonly [painted: number, content: number]> {
  const guest = await newcomer(look, customer)
  const session = await guest.context.newCDPSession(guest.page)
  await session.send('Network.enable')
  await session.send('Network.emulateNetworkConditions', { offline: false, ...line })
  await guest.page.addInitScript({ content: watch(content) })
  await guest.page.goto(`${tollgate.url}${path}`)
  const times = await guest.page.evaluate<readonly [number, number]>(TIMES)
  await guest.context.close()
  return times
}

for (const look of LOOKS) {
  test(
    `a first load is small, in few requests: ${look.language}, ${look.dark ? 'dark' : 'light'}`,
    { skip },
    async () => {
      for (const [path, until, who, most] of [
        ['/', 'h1', null, FIRST],
        ['/', CHART, customer, FIRST],
        ...oneOf(3, LOADS).map(([path, until]) => [path, until, customer, DEEP] as const),
      ] as const) {
        const guest = await newcomer(look, who)
        const sizes = new Map<string, number>()
        guest.page.on('response', (response) => {
          void response
            .request()
            .sizes()
            .then(
              // A file that was asked for ahead is used from the cache, and counts once.
              ({ responseBodySize: size }) => sizes.set(response.url(), Math.max(size, sizes.get(response.url()) ?? 0)),
              () => undefined,
            )
        })
        await guest.page.goto(`${tollgate.url}${path}`)
        await guest.page.locator(until).first().waitFor()
        await guest.settled()
        const bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0)
        const told = `${path}: ${bytes} bytes in ${sizes.size} requests: ${JSON.stringify([...sizes])}`
        assert.ok(bytes > 50_000 && bytes <= most.bytes, told)
        assert.ok(sizes.size > 5 && sizes.size <= most.requests, told)
        assert.deepEqual(guest.troubles, [])
        await guest.context.close()
      }
    },
  )

  test(`something is painted within a second on 4G, and the content soon: ${look.language}`, { skip }, async () => {
    for (const [name, line] of Object.entries(LINES))
      for (const [path, content] of TIMED) {
        // Object.entries forgets the type of the keys.
        const [paintedMax, contentMax] = MS_MAX[name as keyof typeof LINES]
        const times: string[] = []
        for (let turn = 0; turn < TRIES_MAX; turn += 1) {
          const [painted, shown] = await timesOf(look, line, path, content)
          times.push(`painted after ${Math.round(painted)} ms, content after ${Math.round(shown)} ms`)
          if (TIMES_ARE_TOLD) continue
          if (painted <= patient(paintedMax) && shown <= patient(contentMax)) break
          assert.ok(turn < TRIES_MAX - 1, `${name}, ${path}: ${times.join('; ')}`)
        }
        if (TIMES_ARE_TOLD) process.stdout.write(`${name}, ${path}: ${times.join('; ')}\n`)
      }
  })
}

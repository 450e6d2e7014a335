import { existsSync } from 'node:fs'
import { chromium, type Browser, type BrowserContext, type Page, type Request } from 'playwright-core'
import { oneOf } from './form.ts'

/** Runs in the page before its own scripts; it is a text, since the project's types have no `document`. */
const REPORT_VIOLATIONS =
  "document.addEventListener('securitypolicyviolation', (event) => reportViolation(`CSP: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`))"
/** All storage of a page, except cookies and compiled code. */
const STORAGE = 'local_storage,indexeddb,file_systems,service_workers,cache_storage'
const FRAME = 'new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))'
/** Whether a skeleton still replaces data that has not arrived. */
const LOOK = "document.querySelector('main .mantine-Skeleton-root, main .mantine-Loader-root') !== null"
const CALM_LOOKS = 4
/** Each page has its own heading. */
const HEADING = 'main h1, main [role=alert]'
const LEFT_MS = 60_000
const LEFT = `new Promise((resolve, reject) => {
  const untilMs = performance.now() + ${LEFT_MS}
  const look = () => {
    if (document.querySelector('[data-left]') === null) return resolve()
    if (performance.now() > untilMs) return reject(new Error('the page before still stands: two pages of one route share a heading'))
    requestAnimationFrame(look)
  }
  look()
})`
/** The first is Chromium without windows, which takes a fifth less CPU time. */
const PATHS = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
] as const

/** The path of the machine's Chromium; null if there is none. CHROMIUM overrides it. */
export function findChromium(): string | null {
  return [process.env['CHROMIUM'], ...PATHS].find((path) => path !== undefined && existsSync(path)) ?? null
}

/**
 * The reason to skip browser tests here, for the `skip` option of `test`; false = they run. In CI they always run, and
 * fail without a browser.
 */
export function browserSkip(): string | false {
  if (findChromium() !== null || process.env['CI'] === 'true') return false
  return 'SKIPPED: no Chromium on this machine (apt-get install chromium-headless-shell, or name one in CHROMIUM)'
}

export async function openBrowser(more: readonly string[] = []): Promise<Browser> {
  const executablePath = findChromium()
  if (executablePath === null) throw new Error('No Chromium on this machine: apt-get install chromium-headless-shell')
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage', ...more] })
}

export interface Visitor {
  readonly page: Page
  readonly context: BrowserContext
  /** Problems: violations of the content security policy, console errors, exceptions, requests to other hosts. */
  readonly troubles: string[]
  /** Resolves when there is a heading or an alert, no request is running, and no skeleton is shown. */
  settled(): Promise<void>
  /** Goes to a page of another route by a link, without reloading the console, which takes four times the work. */
  follow(path: string): Promise<void>
  close(): Promise<void>
}

export interface VisitorOptions {
  readonly language?: 'en' | 'ru'
  readonly dark?: boolean
  readonly width?: number
  readonly height?: number
}

/** Unused visitors by browser and options: a new one takes three times the work, since it loads the console. */
const LEFT_VISITORS = new WeakMap<Browser, Map<string, Visitor[]>>()

/**
 * A browser context without cookies or other data of earlier ones, which records every error. `origin` is the only host
 * that it may call.
 */
export async function visitor(browser: Browser, origin: string, options: VisitorOptions = {}): Promise<Visitor> {
  const looks = LEFT_VISITORS.get(browser) ?? new Map<string, Visitor[]>()
  LEFT_VISITORS.set(browser, looks)
  const look = JSON.stringify([origin, options])
  const left = looks.get(look) ?? []
  looks.set(look, left)
  const before = left.pop()
  if (before !== undefined) return before
  const made = await newVisitor(browser, origin, options)
  const close = async (): Promise<void> => {
    // A page that is still loading, as after a failed test, is not used again.
    if (await forgets(made, origin).catch(() => false)) left.push(visited)
    else await made.context.close()
  }
  const visited: Visitor = { ...made, close }
  return visited
}

/** Clears the data of a visit; returns whether nothing but compiled code is left. */
async function forgets({ page, context, troubles }: Visited, origin: string): Promise<boolean> {
  // If it may call several hosts, clearing one is not enough.
  if (!URL.canParse(origin) || page.isClosed() || context.pages().length > 1) return false
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  page.removeAllListeners('response')
  await page.emulateMedia({ media: null })
  if (page.url().startsWith(origin)) await page.evaluate('sessionStorage.clear()')
  await page.goto('about:blank')
  const session = await context.newCDPSession(page)
  await session.send('Storage.clearDataForOrigin', { origin, storageTypes: STORAGE })
  await session.detach()
  await context.clearCookies()
  troubles.splice(0)
  return true
}

type Visited = Omit<Visitor, 'close'>

async function newVisitor(
  browser: Browser,
  origin: string,
  { language = 'en', dark = false, width = 1280, height = 860 }: VisitorOptions,
): Promise<Visited> {
  const context = await browser.newContext({
    locale: language === 'ru' ? 'ru-RU' : 'en-GB',
    colorScheme: dark ? 'dark' : 'light',
    viewport: { width, height },
    timezoneId: 'Europe/Moscow',
    reducedMotion: 'reduce',
  })
  const troubles: string[] = []
  await context.exposeFunction('reportViolation', (text: string) => troubles.push(text))
  await context.addInitScript({ content: REPORT_VIOLATIONS })
  const page = await context.newPage()
  const asked = new Set<Request>()
  page.on('console', (message) => {
    // Some tests cause a call to be refused, which the browser logs by itself.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      troubles.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => troubles.push(`exception: ${error.message}`))
  page.on('request', (request) => {
    const url = request.url()
    asked.add(request)
    if (!url.startsWith(origin) && !/^(?:data|blob|about):/.test(url)) troubles.push(`request to ${url}`)
  })
  for (const end of ['requestfinished', 'requestfailed'])
    page.on(end as 'requestfinished', (request) => void asked.delete(request))
  const settled = async (): Promise<void> => {
    await page.locator('h1, [role=alert]').first().waitFor()
    // Received data is drawn, or causes another request, within one or two frames.
    for (let calm = 0; calm < CALM_LOOKS; calm = asked.size > 0 || (await page.evaluate<boolean>(LOOK)) ? 0 : calm + 1)
      await page.evaluate(FRAME)
  }
  const follow = async (path: string): Promise<void> => {
    if (!page.url().startsWith(origin)) return void (await page.goto(`${origin}${path}`))
    await page.locator(HEADING).first().waitFor()
    await page.evaluate(`document.querySelector('${HEADING}').setAttribute('data-left', '')`)
    // With its number the router knows the way back.
    await page.evaluate(`history.pushState({ __TSR_index: (history.state?.__TSR_index ?? 0) + 1 }, '', '${path}')`)
    await page.evaluate(LEFT)
  }
  return { page, context, troubles, settled, follow }
}

/**
 * Languages and colour schemes for a journey; each occurs once. `pages.test.ts` opens every page in more combinations.
 */
export const LOOKS = oneOf(2, [
  { language: 'ru', dark: true },
  { language: 'en', dark: false },
])

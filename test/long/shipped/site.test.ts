import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { extname, join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { brokenLinks, fileOf } from '../../../scripts/site/broken-links.ts'
import { browserSkip, openBrowser, visitor, type VisitorOptions } from '../../harness/browser.ts'
import { freshFolder } from '../../harness/lasting.ts'

const ROOT = join(import.meta.dirname, '../../..')
const SITE = join(ROOT, 'site/dist')
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.md': 'text/markdown; charset=utf-8',
  '.svg': 'image/svg+xml',
}
const isInstalled = existsSync(join(ROOT, 'site/node_modules')) || process.env['CI'] === 'true'
const skip = isInstalled ? browserSkip() : 'VitePress is not installed: npm ci --prefix site'

let server: Server | undefined
let origin = ''
let browser: Browser

before(async () => {
  if (skip !== false) return
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, 'scripts/docs-site.ts')], {
    encoding: 'utf8',
  })
  assert.equal(status, 0, `${stdout}${stderr}`)
  const files = createServer((request, response) => {
    const file = fileOf(SITE, decodeURIComponent(new URL(request.url ?? '/', 'http://site').pathname))
    if (file === null) return void response.writeHead(404).end()
    response.setHeader('content-type', TYPES[extname(file)] ?? 'application/octet-stream')
    response.end(readFileSync(file))
  })
  await new Promise<void>((resolve) => files.listen(0, '127.0.0.1', resolve))
  const address = files.address()
  assert.ok(address !== null && typeof address === 'object')
  origin = `http://127.0.0.1:${address.port}`
  browser = await openBrowser()
  server = files
})
after(async () => {
  if (server === undefined) return
  await browser.close()
  server.closeAllConnections()
  server.close()
})

/** With SHOTS_DIR a picture of it is kept there. */
async function shot(name: string, look: VisitorOptions, path: string): Promise<void> {
  const { page, troubles, settled, close } = await visitor(browser, origin, look)
  await page.goto(`${origin}${path}`)
  await settled()
  assert.ok(
    (await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')) <= 0,
    `${name} is too wide`,
  )
  const folder = process.env['SHOTS_DIR']
  if (folder !== undefined) await page.screenshot({ path: join(folder, `${name}.png`) })
  assert.deepEqual(troubles, [])
  await close()
}

test('a reader finds a page by a word, and goes on by a link', { skip }, async () => {
  const { page, troubles, settled, close } = await visitor(browser, origin)
  await page.goto(`${origin}/`)
  await settled()
  await page.getByRole('button', { name: 'Search' }).click()
  await page.getByRole('searchbox').fill('micro-ruble')
  await page.locator('#localsearch-list [role=option] a').first().click()
  await page.waitForURL((url) => url.pathname !== '/')
  await page
    .locator('main')
    .getByText(/micro-ruble/i)
    .first()
    .waitFor()
  await page.locator('aside').getByRole('link', { name: 'Install', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Install' }).waitFor()
  await page.locator('main').getByRole('link', { name: 'Operations', exact: true }).click()
  await page.waitForURL(/\/operations#several-nodes$/)
  assert.deepEqual(troubles, [])
  await close()
})

test(
  'a Russian reader comes from the switch to the Russian pages, and finds one by a Russian word',
  { skip },
  async () => {
    const { page, troubles, settled, close } = await visitor(browser, origin, { language: 'ru' })
    await page.goto(`${origin}/start`)
    await settled()
    await page.getByRole('button', { name: 'Change language' }).hover()
    await page.getByRole('link', { name: 'Русский' }).first().click()
    await page.waitForURL(`${origin}/ru/`)
    await page.getByRole('button', { name: 'Поиск' }).click()
    await page.getByRole('searchbox').fill('выписка')
    await page.locator('#localsearch-list [role=option] a').first().click()
    await page.waitForURL(/\/ru\/(?:cabinet|money)/)
    assert.deepEqual(troubles, [])
    await close()
  },
)

test('light, dark and on a phone no page is wider than the screen', { skip }, async () => {
  await shot('light', {}, '/operations')
  await shot('dark', { dark: true }, '/reference/api')
  await shot('phone', { width: 390, height: 844 }, '/settings')
  await shot('phone-home', { width: 390, height: 844 }, '/')
  await shot('russian', { language: 'ru' }, '/ru/money')
})

test('each page is there as Markdown too, llms.txt names it, and its links lead somewhere', { skip }, () => {
  const pages = globSync('**/*.html', { cwd: SITE, exclude: ['404.html', 'openapi/**'] })
  assert.ok(pages.length > 50)
  const list = readFileSync(join(SITE, 'llms.txt'), 'utf8')
  const whole = readFileSync(join(SITE, 'llms-full.txt'), 'utf8')
  for (const page of pages) {
    const markdown = page.replace('.html', '.md')
    assert.ok(page === 'index.html' || list.includes(`](/${markdown})`), page)
    const text = readFileSync(join(SITE, markdown), 'utf8')
    assert.equal(whole.includes(text), !page.startsWith('ru/'), page)
    for (const [, link = ''] of text.matchAll(/\]\((?!https?:|\/)([^)#\s]+)/g))
      assert.ok(existsSync(join(SITE, markdown, '..', link)), `${markdown} → ${link}`)
  }
  assert.equal(JSON.parse(readFileSync(join(SITE, 'openapi/openapi.json'), 'utf8')).openapi, '3.1.0')
})

test('a link to a page, a heading or a picture that is not there is found', { skip }, () => {
  const copy = freshFolder()
  cpSync(SITE, copy, { recursive: true })
  assert.deepEqual(brokenLinks(copy), [])
  const page = join(copy, 'settings.html')
  const links = '<a href="/nowhere">a</a><a href="./install#nothing">b</a><img src="/no.png"><a href="#settings">c</a>'
  writeFileSync(page, readFileSync(page, 'utf8').replace('</main>', `${links}</main>`))
  assert.deepEqual(brokenLinks(copy), [
    'settings.html → /nowhere',
    'settings.html → ./install#nothing',
    'settings.html → /no.png',
  ])
})

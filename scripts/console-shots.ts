import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { openBrowser, visitor, type VisitorOptions } from '../test/harness/browser.ts'
import {
  buildConsole,
  chat,
  CONSOLE_DIR,
  enter,
  makeKey,
  promote,
  signUp,
  texts,
  type Customer,
} from '../test/harness/console-world.ts'
import { CONSOLE_PAGES, type ConsolePage } from '../test/console/console-pages.ts'
import { movingGateway, type MovingGateway } from '../test/harness/gateway.ts'
import { completion } from '../test/harness/provider-answers.ts'
import { listen, sendJson } from '../test/harness/scripted-upstream.ts'

const OUT = process.env['SHOTS_DIR'] ?? join(import.meta.dirname, '../docs/console')
const DAYS = 30
const HOUR_MS = 3_600_000
const APPS = [
  { 'http-referer': 'https://notes.example', 'x-title': 'Notes' },
  { 'http-referer': 'https://shop.example/support', 'x-title': 'Shop assistant' },
  {},
]
/** Sandbox models under other names, so that the pictures show more than one model. */
const CATALOGUE = `
bundled: true
rates: { USD: 92.50, EUR: 101.20 }
markup: 1.25
status_page: true
models:
${[
  ['aurora/large', 'Aurora Large', 240, 960],
  ['aurora/mini', 'Aurora Mini', 18, 72],
  ['borealis/coder', 'Borealis Coder', 120, 480],
]
  .map(
    ([id, name, prompt, completion]) =>
      `  - { id: ${id}, name: ${name}, type: chat, context_length: 200000, endpoints: [{ provider: sandbox, model: chat, price: { currency: RUB, prompt: ${prompt}, completion: ${completion} } }] }`,
  )
  .join('\n')}
`
const MODELS = ['aurora/large', 'aurora/mini', 'borealis/coder', 'sandbox/chat']

interface Shot extends ConsolePage {
  readonly query?: string
  readonly look: VisitorOptions
}

const WIDE: VisitorOptions = { width: 1360, height: 900 }
const DARK: VisitorOptions = { ...WIDE, dark: true }
const PHONE: VisitorOptions = { width: 390, height: 844 }

const server = await movingGateway({
  catalog: CATALOGUE,
  startUnixMs: Date.now() - DAYS * 24 * HOUR_MS,
  env: { ALLOW_PRIVATE_UPSTREAMS: 'true' },
  consoleDir: buildAndName(),
})
try {
  const world = await history(server)
  await photograph(server, world)
} finally {
  await server.stop()
}

function buildAndName(): string {
  buildConsole()
  return CONSOLE_DIR
}

/** A month of requests, more of them on weekdays and during the day. */
async function history(
  tollgate: MovingGateway,
): Promise<{ readonly customer: Customer; readonly operator: Customer; readonly generation: string }> {
  const customer = await signUp(tollgate, 'ann@example.com', { balance: 3_000 })
  const keys = [
    await makeKey(tollgate, customer, { name: 'Production', limit: 1_500, limit_reset: 'monthly' }),
    await makeKey(tollgate, customer, { name: 'Staging', limit: 20 }),
    await makeKey(tollgate, customer, { name: 'Notebook' }),
  ]
  let generation = ''
  for (let hour = 0; hour < DAYS * 24; hour += 6) {
    const busy = 1 + ((hour * 7) % 5) + Math.floor(hour / 150)
    for (let index = 0; index < busy; index += 1) {
      const fails = (hour + index) % 23 === 0
      const answer = await chat(
        tollgate,
        keys[index % 3]?.key ?? '',
        `Tell me about ${hour}\nsandbox: words=${60 + ((hour * 13 + index * 29) % 500)}${fails ? ' status=500' : ''}`,
        APPS[(hour + index) % 3] ?? {},
        { model: MODELS[(hour / 6 + index) % MODELS.length] },
      )
      generation = answer.status === 200 ? (answer.headers['x-generation-id'] ?? generation) : generation
    }
    if (hour < DAYS * 24 - 6) tollgate.clock.advance(6 * HOUR_MS)
  }
  tollgate.clock.advance(5.8 * HOUR_MS)
  const live = keys[0]?.key ?? ''
  for (let index = 0; index < 6; index += 1)
    generation =
      (
        await chat(tollgate, live, `Now ${index}\nsandbox: words=${120 + index * 40}`, APPS[index % 3] ?? {}, {
          model: MODELS[index % 3],
        })
      ).headers['x-generation-id'] ?? generation
  // Refused: a model that does not exist, more than the key may spend, and a wrong field.
  for (const extra of [{ model: 'aurora/huge' }, { max_tokens: 100_000 }, { max_tokens: 100_000 }, { temperature: 9 }])
    await chat(tollgate, keys[1]?.key ?? '', 'Hello', APPS[0], { model: 'aurora/large', ...extra })
  await holdPrices(tollgate, live)
  await tollgate.admin('POST', '/admin/v1/codes', { amount: 500, count: 3, note: 'Spring campaign' })
  for (const [path, kinds] of [
    ['accounting', ['balance.low']],
    ['platform', ['limit.near', 'limit.reached', 'job.ended']],
  ] as const)
    await tollgate.admin('POST', `/admin/v1/accounts/${customer.accountId}/notices/channels`, {
      target: `https://hooks.example.com/${path}`,
      kinds,
    })
  const operator = await promote(
    tollgate,
    await signUp(tollgate, 'root@example.com', { name: 'Rita Root', balance: 0 }),
  )
  for (const name of ['Northwind', 'Contoso', 'Umbra Labs'])
    await tollgate.createAccount({ account: { name }, balance: 1_000 })
  const signedIn = await tollgate.request('POST', '/cabinet/v1/sign-in', {
    body: { email: customer.email, password: 'a gate with seven hinges' },
    headers: { origin: tollgate.url },
  })
  const cookie = (signedIn.headers['set-cookie'] ?? '').split(';')[0] ?? ''
  return { customer: { ...customer, cookie }, operator, generation }
}

/** A provider whose own list has other prices than the day before, and one more model. */
async function holdPrices(tollgate: MovingGateway, key: string): Promise<void> {
  const price = (prompt: number, completed: number) => ({
    prompt: (prompt / 1e6).toFixed(12),
    completion: (completed / 1e6).toFixed(12),
  })
  const data = [
    { id: 'pro', pricing: price(3, 12) },
    { id: 'lite', pricing: price(0.1, 0.4) },
    { id: 'vision', name: 'Meridian Vision', created: 1, context_length: 200_000, pricing: price(1, 4) },
  ]
  const { url } = await listen((response, { path }) =>
    path.endsWith('/models')
      ? sendJson(response, { data })
      : sendJson(response, completion({ content: 'x' }, { usage: { prompt_tokens: 900, completion_tokens: 700 } })),
  )
  await tollgate.admin('PUT', '/admin/v1/providers/meridian', {
    name: 'Meridian',
    adapter: 'openai',
    base_url: `${url}/v1`,
    api_key: 'sk-meridian-0000',
    price_list: { api: 'openrouter', rise: 10 },
  })
  for (const [id, name, prompt, completed] of [
    ['pro', 'Meridian Pro', 2, 8],
    ['lite', 'Meridian Lite', 0.3, 1.2],
  ] as const)
    await tollgate.admin('PUT', `/admin/v1/models/meridian/${id}`, {
      name,
      type: 'chat',
      context_length: 128_000,
      endpoints: [{ provider: 'meridian', model: id, price: { currency: 'USD', prompt, completion: completed } }],
    })
  const text = 'A text of some length. '.repeat(200)
  for (let index = 0; index < 9; index += 1)
    await chat(tollgate, key, text, {}, { model: 'meridian/pro', max_tokens: 1_000 })
  await tollgate.admin('POST', '/admin/v1/price-changes/fetch', {})
}

async function photograph(
  tollgate: MovingGateway,
  { customer, operator, generation }: Awaited<ReturnType<typeof history>>,
): Promise<void> {
  mkdirSync(OUT, { recursive: true })
  const ids: Readonly<Record<string, string>> = {
    '/log/$id': generation,
    '/model/$': 'aurora/large',
    '/operator/accounts/$id': customer.accountId,
    '/operator/accounts/$id/statement': customer.accountId,
  }
  const queries = await linkQueries(tollgate, customer)
  const drawer = { route: '/operator/requests', who: 'operator', query: `?request=${generation}` } as const
  const shots: readonly Shot[] = [
    ...CONSOLE_PAGES.flatMap((page) => [
      { ...page, look: WIDE },
      { ...page, name: `${page.name}-dark`, look: DARK },
      { ...page, name: `${page.name}-phone`, look: PHONE },
    ]),
    ...CONSOLE_PAGES.filter(({ name }) => name === 'home').map((page) => ({
      ...page,
      name: 'home-ru',
      look: { ...WIDE, language: 'ru' } as const,
    })),
    { ...drawer, name: 'operator-request', look: WIDE, until: '[role=dialog] h2' },
    { ...drawer, name: 'operator-request-dark', look: DARK, until: '[role=dialog] h2' },
    { ...drawer, name: 'operator-request-phone', look: PHONE, until: '[role=dialog] h2' },
  ]
  const only = process.argv.slice(2)
  // Letters are positioned as on a high-density screen.
  const browser = await openBrowser(['--font-render-hinting=none'])
  for (const { name, route, query = queries[route] ?? '', who, look, until } of shots.filter(
    (shot) => only.length === 0 || only.some((part) => shot.name.includes(part)),
  )) {
    const guest = await visitor(browser, tollgate.url, look)
    if (who !== 'stranger') await enter(guest.context, tollgate, who === 'customer' ? customer : operator)
    await guest.page.goto(`${tollgate.url}${route.replace(/\$(?:id)?/, () => ids[route] ?? '')}${query}`)
    await guest.page
      .locator(until ?? 'h1')
      .first()
      .waitFor()
    await guest.settled()
    if (route === '/playground') await talk(guest.page)
    await photo(guest.page, join(OUT, `${name}.webp`))
    if (guest.troubles.length > 0) process.stdout.write(`${name}: ${guest.troubles.join('\n')}\n`)
    await guest.close()
  }
  await browser.close()
}

/** Queries of the links by which people come who are not signed in: a new password, and an invitation. */
async function linkQueries(tollgate: MovingGateway, customer: Customer): Promise<Readonly<Record<string, string>>> {
  const users = await tollgate.admin('GET', `/admin/v1/users?account=${customer.accountId}`)
  const password = await tollgate.admin('POST', `/admin/v1/users/${users.body.data[0].id}/password-link`, {})
  const invitation = await tollgate.request('POST', '/cabinet/v1/invitations', {
    body: { role: 'member' },
    headers: { origin: tollgate.url, cookie: customer.cookie },
  })
  return { '/setup': new URL(password.body.link).search, '/join': new URL(invitation.body.link).search }
}

/** WebP: a third of the bytes of a PNG, with equally sharp text. */
async function photo(page: Page, file: string): Promise<void> {
  const session = await page.context().newCDPSession(page)
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 80 })
  writeFileSync(file, Buffer.from(data, 'base64'))
}

/** A short conversation, so that the picture of the playground shows one. */
async function talk(page: Page): Promise<void> {
  const text = texts('en')
  await page
    .getByRole('textbox', { name: text('play.message'), exact: true })
    .fill('What is a toll gate?\nsandbox: words=60')
  await page.getByRole('button', { name: text('play.send') }).click()
  await page.getByText(new RegExp(`^${text('play.cost_all', { amount: '₽0\\.\\d*[1-9]' })}`)).waitFor()
}

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Browser, Locator, Page } from 'playwright-core'
import { namelessControls, seriousFindings } from '../../harness/page-findings.ts'
import { browserSkip, openBrowser, visitor, type Visitor, type VisitorOptions } from '../../harness/browser.ts'
import {
  buildConsole,
  chat,
  CONSOLE_DIR,
  enter,
  makeKey,
  PASSWORD,
  promote,
  signUp,
  texts,
  type Customer,
} from '../../harness/console-world.ts'
import { MEMBER, OPENINGS, OWNER, PICKY, SSO, UNPROVEN, type DialogWorld, type Opening } from './dialog-openings.ts'
import { oneOf } from '../../harness/form.ts'
import { gateway, type Gateway } from '../../harness/gateway.ts'
import { answers, startScriptedUpstream } from '../../harness/scripted-upstream.ts'
import { until } from '../../harness/patience.ts'
import { createVideo } from '../../harness/video-jobs.ts'
import { startVideoProvider } from '../../harness/video-provider.ts'
import { freshFolder } from '../../harness/lasting.ts'

const skip = browserSkip()
const SOURCE = join(import.meta.dirname, '../../../console/src')
const HEIGHT = 720
const PHONE_WIDTH = 390
/** Whoever uses the keyboard alone starts again at the top of the page. */
const IS_LOST = 'document.activeElement === null || document.activeElement === document.body'
const ON_CLOSE = "document.activeElement?.matches('.mantine-Modal-close') === true"

/** A page without dialogs. */
const BETWEEN = '/settings'
const LOOKS: readonly VisitorOptions[] = oneOf(3, [
  { language: 'ru', dark: true, width: PHONE_WIDTH, height: HEIGHT },
  { language: 'en', width: 1280, height: HEIGHT },
  { language: 'ru', dark: true, width: 1280, height: HEIGHT },
])

/** A search, and a proof of who one is, which is typed again each time. */
const NO_FORM: ReadonlySet<string> = new Set(['find', 'proof', 'discard'])
const TYPED =
  'input[type=text]:enabled:not([readonly]), input:not([type]):enabled:not([readonly]), input[type=email], input[type=password]:enabled, textarea'

/** What makes a dialog: all that opens one stands here, so that it has a name. */
const MADE = /<Dialog\b|<Drawer\b|\b(?:confirm|ask)\(\{/g
const NAMED =
  /<Dialog\s+name="([\w-]+)"|<Drawer\s+\{\.\.\.dialogName\('([\w-]+)'\)\}|\b(?:confirm|ask)\(\{\s*name: '([\w-]+)'/g
/** This part makes them of the library's, and one of its own. */
const PARTS = new Map([['parts/Dialog.tsx', 'discard']])
const OF_THE_LIBRARY = /<Modal\b|\bopenConfirmModal\b|\bmodals\.open/

test('every dialog of the source has a name, and a way to it that is walked here', {}, () => {
  const files = globSync('**/*.tsx', { cwd: SOURCE })
    .filter((path) => !PARTS.has(path))
    .map((path) => ({ path, text: readFileSync(join(SOURCE, path), 'utf8') }))
  const names = files.flatMap(({ path, text }) => {
    const named = [...text.matchAll(NAMED)].map((found) => found.slice(1).find((name) => name !== undefined) ?? '')
    assert.equal(named.length, [...text.matchAll(MADE)].length, `${path}: a dialog whose name does not stand first`)
    assert.doesNotMatch(text, OF_THE_LIBRARY, `${path}: a dialog without a name`)
    return named
  })
  assert.ok(names.length > 40, `${names.length}`)
  assert.equal(new Set(names).size, names.length, 'a name is of one dialog')
  assert.deepEqual(new Set(OPENINGS.map(({ name }) => name)), new Set([...names, ...PARTS.values()]))
})

let tollgate: Gateway
let browser: Browser
let world: DialogWorld
let people: Readonly<Record<Opening['who'], Customer>>

before(async () => {
  if (skip !== false) return
  buildConsole()
  tollgate = await gateway({
    dataDir: freshFolder(),
    consoleDir: CONSOLE_DIR,
    env: { ALLOW_PRIVATE_UPSTREAMS: 'true' },
  })
  browser = await openBrowser()
  const owner = await signUp(tollgate, OWNER)
  const { key } = await makeKey(tollgate, owner, { name: 'backend', limit: 50 })
  const generation = (await chat(tollgate, key, 'Hello')).headers['x-generation-id'] ?? ''
  world = { accountId: owner.accountId, generation }
  await refuseField(key)
  await holdPrices()
  const cabinet = async (path: string, body: object): ReturnType<Gateway['request']> => {
    const made = await tollgate.request('POST', `/cabinet/v1/${path}`, { body, headers: owner.headers })
    assert.equal(made.status, 201, made.text)
    return made
  }
  await cabinet('management-keys', { name: 'deploy' })
  const { body: invited } = await cabinet('invitations', { role: 'member' })
  const member = await joinBy(String(invited.link), owner)
  await unusual(owner)
  await tollgate.admin('POST', '/admin/v1/tokens', { name: 'reports', role: 'read_only' })
  await tollgate.admin('POST', '/admin/v1/account-groups', { name: 'Partners', markup: '1.1' })
  await parkVideo(owner)
  // Another session, and an address that tries wrong keys.
  const body = { email: OWNER, password: PASSWORD }
  await tollgate.request('POST', '/cabinet/v1/sign-in', { body, headers: { origin: tollgate.url } })
  await tollgate.admin('PATCH', '/admin/v1/settings', { ip_block: { failures: 3, window: 600, duration: 6000 } })
  for (const wrong of ['a', 'b', 'c', 'd']) await tollgate.post('/v1/chat/completions', `sk-${wrong}`, {})
  people = { owner, member, operator: await promote(tollgate, await signUp(tollgate, 'root@example.com')) }
})

after(async () => {
  if (skip !== false) return
  await browser.close()
  await tollgate.stop()
})

/** An endpoint refuses a parameter of a request. */
async function refuseField(key: string): Promise<void> {
  const { provider, model, parameter } = PICKY
  const upstream = await startScriptedUpstream()
  upstream.answer(answers({ error: { message: 'Unsupported', param: parameter } }, 400))
  await tollgate.admin('PUT', `/admin/v1/providers/${provider}`, {
    adapter: 'openai',
    base_url: upstream.url,
    api_key: 'k',
  })
  await tollgate.admin('PUT', `/admin/v1/models/test/${model}`, {
    type: 'chat',
    context_length: 8_192,
    endpoints: [{ provider, model, price: { currency: 'RUB', prompt: 1, completion: 1 } }],
  })
  const messages = [{ role: 'user', content: 'Hello' }]
  const body = { model: `test/${model}`, messages, max_tokens: 9, [parameter]: { 7: 1 } }
  assert.equal((await tollgate.post('/v1/chat/completions', key, body)).status, 400)
  await upstream.close()
}

/** The connection breaks while a video is ordered. */
async function parkVideo({ accountId }: Customer): Promise<void> {
  const film = await startVideoProvider()
  film.script((seen, response) => seen.method === 'POST' && response.socket?.resetAndDestroy() !== undefined)
  await tollgate.admin('PUT', '/admin/v1/providers/film', {
    adapter: 'openai',
    base_url: `${film.url}/v1`,
    api_key: 'k',
  })
  await tollgate.admin('PUT', '/admin/v1/models/test/film', {
    type: 'video',
    supported_durations: [4],
    endpoints: [{ provider: 'film', model: 'sora', price: { currency: 'RUB', video_second: 1 } }],
  })
  const { body } = await tollgate.admin('POST', `/admin/v1/accounts/${accountId}/keys`, { name: 'films' })
  await createVideo(tollgate, body.key, { model: 'test/film', prompt: 'A gate' })
  await until(20_000, 'the submission is parked', async () => {
    return (await tollgate.admin('GET', '/admin/v1/videos/parked')).body.total === 1
  })
}

/** A provider's list has other prices than its models. */
async function holdPrices(): Promise<void> {
  const upstream = await startScriptedUpstream()
  const names = ['one', 'two']
  const pricing = { prompt: '0.00001', completion: '0.00001' }
  upstream.answer(answers({ data: names.map((id) => ({ id, pricing })) }))
  await tollgate.admin('PUT', '/admin/v1/providers/dear', {
    adapter: 'openai',
    base_url: upstream.url,
    api_key: 'k',
    price_list: { api: 'openrouter' },
  })
  for (const name of names)
    await tollgate.admin('PUT', `/admin/v1/models/dear/${name}`, {
      type: 'chat',
      context_length: 8_192,
      endpoints: [{ provider: 'dear', model: name, price: { currency: 'RUB', prompt: 1, completion: 1 } }],
    })
  const { body } = await tollgate.admin('POST', '/admin/v1/price-changes/fetch', {})
  assert.equal(body.data[0].held.length, 2)
  const coming = { from: new Date(Date.now() + 30 * 86_400_000).toISOString(), markup: 9 }
  assert.equal((await tollgate.admin('POST', '/admin/v1/coming-prices', coming)).status, 201)
  await upstream.close()
}

async function joinBy(link: string, { accountId }: Customer): Promise<Customer> {
  const token = new URL(link).searchParams.get('token')
  const joined = await tollgate.request('POST', '/cabinet/v1/invitations/join', {
    body: { token, email: MEMBER, password: PASSWORD },
    headers: { origin: tollgate.url },
  })
  assert.equal(joined.status, 201, joined.text)
  const cookie = (joined.headers['set-cookie'] ?? '').split(';')[0] ?? ''
  return { accountId, email: MEMBER, cookie, headers: { cookie, origin: tollgate.url } }
}

/** What a service without mail and without single sign-on has from the time when it had them. */
async function unusual({ accountId }: Customer): Promise<void> {
  const { users, notices } = tollgate.app.store
  const nowMs = Date.now()
  const user = await users.findByEmail(OWNER)
  const identity = { issuer: 'https://id.work.example', subject: 'ann', email: SSO, linkedAtMs: nowMs }
  assert.equal(await users.linkIdentity(user?.id ?? '', identity), 'linked')
  const receiver = {
    id: 'chn_unproven',
    accountId,
    externalId: null,
    type: 'email',
    target: UNPROVEN,
    secret: null,
    kinds: ['balance.low'],
    language: 'en',
    enabled: true,
    createdAtMs: nowMs,
    confirmed: false,
  } as const
  assert.equal(await notices.addChannel(receiver, 5, { hash: 'none', untilMs: nowMs }), 'added')
}

/** Clicks it unless something covers it. */
function clicked(button: Locator): Promise<void> {
  return button.click({ timeout: 1_000 }).catch(() => undefined)
}

for (const look of LOOKS)
  for (const who of ['owner', 'member', 'operator'] as const) {
    const t = texts(look.language ?? 'en')
    test(
      `${who}: every dialog fits ${look.width} × ${HEIGHT} px and names its controls: ${look.language}, ${look.dark === true ? 'dark' : 'light'}`,
      { skip },
      async () => {
        const problems: string[] = []
        const guest = await visitor(browser, tollgate.url, look)
        const { page } = guest
        page.on('request', (request) => {
          if (request.method() === 'DELETE') problems.push(`without an answer to a question: ${request.url()}`)
        })
        await enter(guest.context, tollgate, people[who])
        for (const { name, what, path, open } of openingsOf(who, look)) {
          await goTo(guest, path(world))
          await guest.settled()
          await open(page, t)
          const dialog = page.locator(`[data-dialog=${name}]`).getByRole('dialog')
          await dialog.waitFor()
          await guest.settled()
          const found = [
            ...(await fits(page, dialog)),
            ...((await page.evaluate<boolean>(ON_CLOSE)) ? ['the focus is on the button that closes it'] : []),
            ...(await seriousFindings(page)),
            ...(await namelessControls(page)),
            ...guest.troubles.splice(0),
          ]
          await page.keyboard.press('Escape')
          const discard = page.locator('[data-dialog=discard]').getByRole('button').last()
          await guest.settled()
          await until(20_000, `${name} is closed`, async () => {
            // The question comes a moment after the key, and then covers the buttons.
            if (await discard.isVisible()) await discard.click()
            else if (await dialog.isVisible()) await clicked(dialog.getByRole('button').last())
            return !(await dialog.isVisible())
          })
          await dialog.waitFor({ state: 'detached' })
          await guest.settled()
          if (await page.evaluate<boolean>(IS_LOST)) found.push('the focus is lost once it is closed')
          problems.push(...found.map((problem) => `${name}${what === undefined ? '' : ` (${what})`}: ${problem}`))
        }
        await guest.close()
        assert.deepEqual(problems, [])
      },
    )
  }

test(
  'what was typed into a dialog is lost only after a question, and nothing is asked before that',
  { skip },
  async () => {
    const t = texts('en')
    const problems: string[] = []
    let forms = 0
    for (const who of ['owner', 'member', 'operator'] as const) {
      const guest = await visitor(browser, tollgate.url, { language: 'en', width: 1280, height: HEIGHT })
      const { page } = guest
      await enter(guest.context, tollgate, people[who])
      const question = page.locator('[data-dialog=discard]').getByRole('dialog')
      const isAsked = async (): Promise<boolean> => {
        const closed = dialog.waitFor({ state: 'detached' }).then(() => false)
        return Promise.race([closed, question.waitFor().then(() => true)])
      }
      let dialog = question
      const ways: readonly (() => Promise<unknown>)[] = [
        () => page.keyboard.press('Escape'),
        () => page.mouse.click(5, 5),
        () => dialog.locator('.mantine-Modal-close').click(),
        () => page.goBack(),
      ]
      for (const { name, what, path, open } of openingsOf(who, { width: 1280 }).filter(
        (one) => !NO_FORM.has(one.name),
      )) {
        const told = `${name}${what === undefined ? '' : ` (${what})`}`
        const begin = async (): Promise<Locator> => {
          await goTo(guest, path(world))
          await guest.settled()
          await open(page, t)
          dialog = page.locator(`[data-dialog=${name}]`).getByRole('dialog')
          await dialog.waitFor()
          await guest.settled()
          return dialog.locator('form, .mantine-Tabs-panel').locator(TYPED).first()
        }
        const field = await begin()
        if ((await field.count()) === 0) continue
        forms += 1
        // What an opening has typed itself is unsaved.
        if (what === undefined) {
          await page.keyboard.press('Escape')
          if (await isAsked()) problems.push(`${told}: asks about nothing`)
        }
        for (const [index, way] of ways.entries()) {
          if (!(await dialog.isVisible())) await begin()
          const typed = '7'.repeat(index + 1)
          await field.fill(typed)
          await way()
          if (!(await isAsked())) {
            problems.push(`${told}: loses its input, way ${index}`)
            continue
          }
          await page.keyboard.press('Escape')
          await question.waitFor({ state: 'detached' })
          // A number is grouped once its field is left.
          if ((await field.inputValue()).replaceAll(/[\s,]/g, '') !== typed.replaceAll(/[\s,]/g, ''))
            problems.push(`${told}: has not what was typed, way ${index}`)
        }
        if (!(await dialog.isVisible())) continue
        await page.keyboard.press('Escape')
        await question.getByRole('button', { name: t('common.discard'), exact: true }).click()
        await dialog.waitFor({ state: 'detached' })
      }
      await guest.close()
    }
    assert.deepEqual(problems, [])
    assert.ok(forms > 15, `${forms}`)
  },
)

/** Leaves the dialog that stands, and the page if the next one is of its route, without loading the console again. */
async function goTo({ page, follow, settled }: Visitor, path: string): Promise<void> {
  if (page.url().startsWith(tollgate.url)) {
    // A question stands over all pages; what only its button closes goes with its page.
    await page.keyboard.press('Escape')
    await settled()
    const discard = page.locator('[data-dialog=discard]').getByRole('button').last()
    if (await discard.isVisible()) await discard.click()
    if (new URL(page.url()).pathname === path.split('?')[0]) await follow(BETWEEN)
  }
  await follow(path)
  await page.getByRole('dialog').waitFor({ state: path.includes('request=') ? 'visible' : 'detached' })
}

function openingsOf(who: Opening['who'], { width }: VisitorOptions): readonly Opening[] {
  return OPENINGS.filter((one) => one.who === who && (one.onPhones === undefined || width === PHONE_WIDTH))
}

/** The dialog is within the window, and so is its last button, once it is scrolled to. */
async function fits(page: Page, dialog: Locator): Promise<readonly string[]> {
  const { width = 0, height = 0 } = page.viewportSize() ?? {}
  const last = dialog.getByRole('button').last()
  await last.scrollIntoViewIfNeeded()
  const outside: string[] = []
  for (const [name, part] of [
    ['it', dialog],
    ['its last button', last],
  ] as const) {
    const box = await part.boundingBox()
    if (box === null || box.x < -1 || box.y < -1 || box.x + box.width > width + 1 || box.y + box.height > height + 1)
      outside.push(`${name} is outside of the window: ${JSON.stringify(box)}`)
  }
  const wide = await dialog.evaluate((element) => {
    // The script runs in the page.
    const { scrollWidth, clientWidth } = element as unknown as Readonly<Record<'scrollWidth' | 'clientWidth', number>>
    return scrollWidth - clientWidth
  })
  return wide > 1 ? [...outside, `${wide} px wider than it shows`] : outside
}

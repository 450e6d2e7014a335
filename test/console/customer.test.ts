import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { seriousFindings } from '../harness/page-findings.ts'
import { visitor, type Visitor } from '../harness/browser.ts'
import {
  chat,
  enter,
  makeKey,
  PASSWORD,
  signUp,
  textPattern,
  texts,
  serveConsole,
  tollgate,
  browser,
} from '../harness/console-world.ts'
import { casesOf } from '../harness/form.ts'
import { startTollgate } from '../harness/server.ts'

/** The texts of the console that the tests look for. */
const wordsOf = (language: 'en' | 'ru', t = texts(language)) => ({
  signUp: t('entry.sign_up'),
  signIn: t('entry.sign_in'),
  email: t('entry.email'),
  password: t('entry.password'),
  name: t('entry.name'),
  overview: t('nav.home'),
  wrong: t('failure.refused'),
  createKey: t('keys.create'),
  kept: t('keys.kept'),
  useWith: t('keys.use_with'),
  disable: t('keys.disable'),
  redeem: t('money.redeem_button'),
  code: t('money.code'),
  comparison: t('models.compare_title'),
  search: t('common.search'),
  send: t('play.send'),
  message: t('play.message'),
  attempts: t('request.attempts'),
  bill: t('request.bill'),
  hold: t('request.hold'),
  save: t('common.save'),
  disabled: t('keys.disabled'),
  moreLimits: t('keys.more_limits'),
  requests: t('keys.requests_per_minute'),
  model: t('keys.model'),
  addModel: t('keys.model_limit_add'),
  ips: t('keys.allowed_ips'),
  csv: t('list.csv'),
  added: textPattern(language, 'money.redeemed'),
  compare: textPattern(language, 'models.compare'),
  pace: [
    t('keys.pace_requests').replace('{{text}}', '2'),
    t('keys.pace_models_one').replace('{{count}}', '1'),
    t('keys.pace_ips_one').replace('{{count}}', '1'),
  ].join(' · '),
  manage: t('keys.management_create'),
  rotate: t('keys.rotate'),
  rotateAct: t('keys.rotate_act'),
  oldWorks: textPattern(language, 'keys.old_works'),
  talk: textPattern(language, 'play.cost_all'),
})

/** A second model, for the comparison. */
const CATALOGUE =
  'models: [{ id: aurora/mini, name: Sandbox Aurora, type: chat, context_length: 200000, endpoints: [{ provider: sandbox, model: chat, price: { currency: RUB, prompt: 18, completion: 72 } }] }]\n'

const skip = await serveConsole(() => startTollgate({ catalog: CATALOGUE, env: { TOLLGATE_LOG_LEVEL: 'error' } }))

/** A signed-in customer's browser; at its end it must have no errors. */
async function asCustomer(
  email: string,
  language: 'en' | 'ru',
  run: (
    page: Page,
    world: { readonly key: string; readonly accountId: string; readonly guest: Visitor },
  ) => Promise<void>,
): Promise<void> {
  const customer = await signUp(tollgate, email)
  const { key } = await makeKey(tollgate, customer, { name: 'backend' })
  const guest = await visitor(browser, tollgate.url, { language })
  await enter(guest.context, tollgate, customer)
  await run(guest.page, { key, accountId: customer.accountId, guest })
  assert.deepEqual(guest.troubles, [])
  await guest.close()
}

for (const language of casesOf(['ru', 'en'] as const, ['ru'])) {
  const words = wordsOf(language)
  const at = (name: string): string => `${name}.${language}@example.com`

  test(`1 (${language}): sign-up, sign-out, a wrong password, sign-in, settings`, { skip }, async () => {
    const { page, troubles, follow, close } = await visitor(browser, tollgate.url, { language })
    await page.goto(tollgate.url)
    await page.getByRole('link', { name: words.signUp }).click()
    await page.getByLabel(words.name, { exact: true }).fill('Ann')
    await page.getByLabel(words.email).fill(at('new'))
    await page.getByRole('textbox', { name: words.password }).fill(PASSWORD)
    await page.getByRole('button', { name: words.signUp }).click()
    await page.getByRole('heading', { level: 1, name: words.overview }).waitFor()
    await follow('/settings')
    await page.getByRole('textbox', { name: words.name, exact: true }).fill('Ann Lee')
    await page.getByRole('button', { name: words.save }).click()
    await page.getByRole('button', { name: /^AL · / }).click()
    await page.getByRole('menuitem').last().click()
    await page.waitForURL(/sign-in/)
    await page.getByLabel(words.email).fill(at('new'))
    await page.getByRole('textbox', { name: words.password }).fill('not the right one')
    await page.getByRole('button', { name: words.signIn }).click()
    await page.getByRole('alert').filter({ hasText: words.wrong }).waitFor()
    await page.getByRole('textbox', { name: words.password }).fill(PASSWORD)
    await page.getByRole('button', { name: words.signIn }).click()
    await page.getByRole('heading', { level: 1, name: words.overview }).waitFor()
    assert.deepEqual(troubles, [])
    await close()
  })

  test(`2 (${language}): home shows balance, spend and a first request that works as pasted`, { skip }, async () => {
    await asCustomer(at('home'), language, async (page, { key }) => {
      await page.goto(tollgate.url)
      const snippet = await page.locator('code').first().innerText()
      assert.ok(snippet.includes(`${tollgate.url}/v1/chat/completions`), snippet)
      const answer = await chat(tollgate, key, 'Hello')
      assert.equal(answer.status, 200)
      await page.reload()
      await page.getByText('sandbox/chat').first().waitFor()
      assert.match(await page.getByRole('main').innerText(), language === 'en' ? /₽0\.000\d+/ : /0,000\d+\s₽/)
      // The balance has kopecks, and a click copies all of its digits.
      const balance = page.getByRole('main').locator('data').first()
      assert.match(await balance.innerText(), language === 'en' ? /^₽\d+\.\d\d$/ : /^\d+,\d\d\s₽$/)
      const exact = await balance.getAttribute('value')
      assert.match(exact ?? '', /\.\d{3,6}$/)
      assert.ok((await balance.getAttribute('title'))?.replace(',', '.').includes(exact ?? '?'))
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
      await balance.click()
      await page.getByText(texts(language)('common.copied')).waitFor()
      assert.equal(await page.evaluate('navigator.clipboard.readText()'), exact)
    })
  })

  test(`3 (${language}): a key is made, shown once, works, is listed, disabled and deleted`, { skip }, async () => {
    await asCustomer(at('keys'), language, async (page) => {
      await page.goto(`${tollgate.url}/keys`)
      await page.getByRole('button', { name: words.createKey }).first().click()
      const dialog = page.getByRole('dialog')
      await dialog.locator('input[data-autofocus]').fill('from the browser')
      await dialog.getByRole('button', { name: words.moreLimits }).click()
      await dialog.getByLabel(words.requests).fill('2')
      await dialog.getByRole('button', { name: words.addModel }).click()
      await dialog.getByLabel(words.model, { exact: false }).last().fill('sandbox/*')
      await dialog.getByLabel(words.requests).last().fill('1')
      await dialog.getByLabel(words.ips).fill('127.0.0.0/8')
      await dialog.getByLabel(words.ips).press('Enter')
      await dialog.getByRole('button', { name: words.createKey }).click()
      const shown = await page.getByText(/^sk-tg-[0-9A-Za-z]{38}$/).innerText()
      assert.equal((await chat(tollgate, shown, 'Hello')).status, 200)
      const again = await chat(tollgate, shown, 'Hello')
      assert.match(again.text, /This key with model 'sandbox\/chat' may use 1 requests per minute/)
      const settings = page.getByRole('dialog')
      await settings.getByText(`ANTHROPIC_AUTH_TOKEN=${shown}`).waitFor()
      await settings.getByRole('combobox', { name: words.useWith }).click()
      await page.getByRole('option', { name: 'Codex' }).click()
      await settings.getByText(`base_url = "${tollgate.url}/v1"`).waitFor()
      await page.getByRole('button', { name: words.kept }).click()
      await page.getByRole('cell', { name: /^from the browser/ }).waitFor()
      await page.getByText(words.pace, { exact: true }).waitFor()
      assert.equal(await page.getByText(shown).count(), 0)
      await page.getByRole('button', { name: words.manage }).click()
      await page.getByRole('dialog').locator('input').fill('provisioning')
      await page.getByRole('dialog').getByRole('button', { name: words.manage }).click()
      const manager = await page.getByText(/^sk-tgm-[0-9A-Za-z]{38}$/).innerText()
      const listed = await tollgate.get('/v1/keys', manager)
      assert.ok(listed.body.data.some(({ name }: { name: string }) => name === 'from the browser'))
      await page.getByRole('button', { name: words.kept }).click()
      await page.getByRole('cell', { name: /^provisioning/ }).waitFor()
      const menu = page.getByRole('row', { name: /^from the browser/ }).getByRole('button')
      await menu.click()
      await page.getByRole('menuitem', { name: words.useWith }).click()
      await page.getByRole('dialog').getByText('ANTHROPIC_AUTH_TOKEN=sk-tg-…').waitFor()
      await page.keyboard.press('Escape')
      await menu.click()
      await page.getByRole('menuitem', { name: words.rotate }).click()
      assert.deepEqual(await seriousFindings(page), [])
      await page.getByRole('dialog').getByRole('button', { name: words.rotateAct }).click()
      const second = await page.getByText(/^sk-tg-[0-9A-Za-z]{38}$/).innerText()
      assert.notEqual(second, shown)
      await page.getByRole('button', { name: words.kept }).click()
      await page.getByText(words.oldWorks).waitFor()
      for (const secret of [shown, second]) assert.equal((await tollgate.get('/v1/key', secret)).status, 200)
      await menu.click()
      await page.getByRole('menuitem', { name: words.disable }).click()
      await page.getByRole('row', { name: new RegExp(`from the browser.*${words.disabled}`) }).waitFor()
      assert.equal((await chat(tollgate, shown, 'Hello')).status, 403)
      await menu.click()
      await page.getByRole('menuitem').last().click()
      await page.getByRole('dialog').getByRole('button').last().click()
      await page.getByRole('cell', { name: /^from the browser/ }).waitFor({ state: 'detached' })
    })
  })

  test(
    `4 (${language}): usage, the log with filters in the address, a request's whole story, CSV`,
    { skip },
    async () => {
      await asCustomer(at('usage'), language, async (page, { key, guest }) => {
        const id =
          (await chat(tollgate, key, 'Hello', { 'http-referer': 'https://notes.example', 'x-title': 'Notes' })).headers[
            'x-generation-id'
          ] ?? ''
        await chat(tollgate, key, 'sandbox: status=500')
        await page.goto(`${tollgate.url}/usage`)
        await page.locator('main [role=slider] svg rect').first().waitFor()
        await page.getByRole('cell', { name: 'sandbox/chat' }).waitFor()
        await guest.follow('/log?status=error')
        await page.getByRole('row').nth(1).waitFor()
        assert.equal(await page.getByRole('table').getByRole('row').filter({ hasText: 'sandbox/chat' }).count(), 1)
        await page.goto(`${tollgate.url}/log?app=${encodeURIComponent('https://notes.example')}`)
        await page.getByRole('table').getByRole('row').filter({ hasText: 'Notes' }).getByRole('link').click()
        await page.waitForURL(new RegExp(`/log\\?app=.*request=${id}`))
        for (const section of [words.attempts, words.bill, words.hold])
          await page.getByRole('dialog').getByRole('heading', { level: 2, name: section, exact: true }).waitFor()
        await page.keyboard.press('Escape')
        await page.getByRole('dialog').waitFor({ state: 'detached' })
        // J and K go along the list, and a view keeps its filters.
        await page.keyboard.press('j')
        await page.waitForURL(new RegExp(`request=${id}`))
        await page.keyboard.press('Escape')
        await page.getByRole('button', { name: texts(language)('log.view_save') }).click()
        await page.keyboard.insertText('Notes only')
        await page.keyboard.press('Enter')
        await page.getByRole('button', { name: texts(language)('log.clear') }).click()
        await page.waitForURL(`${tollgate.url}/log`)
        await page.getByRole('button', { name: 'Notes only', exact: true }).click()
        await page.waitForURL(/\/log\?app=/)
        await page.goto(`${tollgate.url}/log`)
        const csv = await guest.context.request.get(
          `${tollgate.url}${await page.getByRole('link', { name: words.csv }).getAttribute('href')}`,
        )
        assert.match(csv.headers()['content-type'] ?? '', /^text\/csv/)
        assert.match(await csv.text(), new RegExp(id))
      })
    },
  )

  test(`5 (${language}): models are searched and compared, one is read`, { skip }, async () => {
    await asCustomer(at('models'), language, async (page) => {
      await page.goto(`${tollgate.url}/models`)
      await page.getByLabel(words.search).fill('Sandbox')
      await page
        .getByRole('link', { name: /sandbox.*chat|Sandbox/i })
        .first()
        .waitFor()
      const boxes = page.getByRole('table').getByRole('checkbox')
      await boxes.nth(0).check()
      await boxes.nth(1).check()
      await page.getByRole('button', { name: words.compare }).click()
      await page.getByRole('dialog', { name: words.comparison }).getByRole('columnheader').nth(1).waitFor()
      await page.goto(`${tollgate.url}/model/sandbox/chat`)
      await page.getByRole('cell', { name: 'Sandbox' }).first().waitFor()
    })
  })

  test(`6 (${language}): the playground streams a chat and says what it cost`, { skip }, async () => {
    await asCustomer(at('play'), language, async (page) => {
      await page.goto(`${tollgate.url}/playground?model=sandbox/chat`)
      await page.getByLabel(words.message, { exact: true }).fill('Hello\nsandbox: words=900')
      await page.getByRole('button', { name: words.send }).click()
      await page.getByText(words.talk).waitFor()
      const talk = page.getByRole('log')
      assert.ok((await talk.innerText()).split(/\s+/).length > 900)
      const { all, below } = await talk.evaluate((element) => {
        // The script runs in the page.
        const box = element as unknown as Readonly<Record<'scrollHeight' | 'scrollTop' | 'clientHeight', number>>
        const hidden = box.scrollHeight - box.clientHeight
        return { all: hidden, below: hidden - box.scrollTop }
      })
      assert.ok(all > 100 && below < 10, `${below} of ${all} px are below the end that is in view`)
    })
  })

  test(`7 (${language}): a code is redeemed, the ledger and the printable statement have it`, { skip }, async () => {
    await asCustomer(at('money'), language, async (page, { guest }) => {
      const code = (await tollgate.admin('POST', '/admin/v1/codes', { amount: 250 })).body.data[0].code
      await page.goto(`${tollgate.url}/top-up`)
      await page.getByRole('textbox', { name: words.code }).fill(code)
      await page.getByRole('button', { name: words.redeem }).click()
      await page.getByRole('status').filter({ hasText: words.added }).waitFor()
      await page.getByRole('textbox', { name: words.code }).fill(code)
      await page.getByRole('button', { name: words.redeem }).click()
      await page.getByRole('alert').filter({ hasText: words.wrong }).waitFor()
      await guest.follow('/ledger')
      await page.getByRole('cell', { name: /250[.,]00/ }).waitFor()
      await guest.follow('/statement')
      await page
        .getByText(/750[.,]00/)
        .first()
        .waitFor()
      await page.emulateMedia({ media: 'print' })
      assert.equal(await page.getByRole('navigation').isVisible(), false)
    })
  })
}

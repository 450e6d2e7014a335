import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { visitor, type Visitor } from '../harness/browser.ts'
import { browser, enter, makeKey, promote, serveConsole, signUp, texts, tollgate } from '../harness/console-world.ts'

/** The console with the keyboard alone, on a slow network and in two tabs. */

const skip = await serveConsole()
const t = texts('en')
const SLOW = { offline: false, latency: 1_200, downloadThroughput: 50_000, uploadThroughput: 50_000 }
const FOCUSED = `(document.activeElement === document.body ? 'nothing' : document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent)`

async function open(who: Awaited<ReturnType<typeof signUp>>, path: string): Promise<Visitor> {
  const guest = await visitor(browser, tollgate.url, { language: 'en', dark: false })
  await enter(guest.context, tollgate, who)
  await guest.page.goto(`${tollgate.url}${path}`)
  return guest
}

async function close(guest: Visitor): Promise<void> {
  assert.deepEqual(guest.troubles, [])
  await guest.close()
}

async function isFocused(page: Page, name: string): Promise<void> {
  await page.waitForFunction(`${FOCUSED} === ${JSON.stringify(name)}`).catch(async () => {
    assert.equal(await page.evaluate(FOCUSED), name)
  })
}

test('a dialog gives the focus back, and so does a row that goes', { skip }, async () => {
  const owner = await signUp(tollgate, 'keyboard@example.com')
  await makeKey(tollgate, owner, { name: 'first' })
  const guest = await open(owner, '/keys')
  const { page } = guest
  const { keyboard } = page
  const create = page.getByRole('main').getByRole('button', { name: t('keys.create'), exact: true })
  await create.focus()
  await keyboard.press('Enter')
  await page.getByRole('dialog').locator('input:focus').waitFor()
  await keyboard.type('second')
  await keyboard.press('Enter')
  await page.getByText(/^sk-tg-[0-9A-Za-z]{38}$/).waitFor()
  await page.getByRole('button', { name: t('keys.kept') }).focus()
  await keyboard.press('Enter')
  await isFocused(page, t('keys.create'))

  const menu = page.getByRole('button', { name: t('keys.actions_of', { name: 'first' }) })
  const take = async (entry: string): Promise<void> => {
    await menu.focus()
    await keyboard.press('Enter')
    const item = page.getByRole('menuitem', { name: entry, exact: true })
    for (let turn = 0; turn < 9; turn += 1) {
      await keyboard.press('ArrowDown')
      if (
        await item.evaluate((element) => (element as unknown as { matches: (of: string) => boolean }).matches(':focus'))
      )
        break
    }
    await keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
  }
  await take(t('common.edit'))
  await keyboard.press('Escape')
  await isFocused(page, t('keys.actions_of', { name: 'first' }))
  await take(t('common.delete'))
  await keyboard.press('Tab')
  await keyboard.press('Enter')
  await menu.waitFor({ state: 'detached' })
  await isFocused(page, t('nav.keys'))

  // The search is opened before anything had the focus.
  await page.reload()
  await page.getByRole('table').waitFor()
  await keyboard.press('Control+K')
  await page.getByRole('dialog').locator('input:focus').waitFor()
  await keyboard.press('Escape')
  await page.waitForFunction(`document.activeElement.id === 'content'`)
  await close(guest)
})

test('on a slow line a second click means the first', { skip }, async () => {
  const owner = await signUp(tollgate, 'slow@example.com')
  const guest = await open(owner, '/keys')
  const { page } = guest
  const sent: string[] = []
  page.on('request', (request) => request.method() !== 'GET' && sent.push(new URL(request.url()).pathname))
  await page
    .getByRole('main')
    .getByRole('button', { name: t('keys.create'), exact: true })
    .first()
    .click()
  await page.getByRole('dialog').locator('input').first().fill('once')
  const slow = await guest.context.newCDPSession(page)
  await slow.send('Network.enable')
  await slow.send('Network.emulateNetworkConditions', SLOW)
  // Faster than the page is drawn.
  await page
    .getByRole('dialog')
    .locator('form')
    .evaluate((form) => {
      const { requestSubmit } = form as unknown as { requestSubmit: () => void }
      for (const turn of [1, 2, 3]) if (turn > 0) requestSubmit.call(form)
    })
  await page.getByText(/^sk-tg-[0-9A-Za-z]{38}$/).waitFor()
  assert.deepEqual(sent, ['/cabinet/v1/keys'])
  await slow.detach()
  await close(guest)
})

test('a stale tab changes only what was changed in it', { skip }, async () => {
  const owner = await promote(tollgate, await signUp(tollgate, 'stale@example.com'))
  const path = `/admin/v1/accounts/${owner.accountId}`
  const guest = await open(owner, `/operator/accounts/${owner.accountId}?tab=limits`)
  const { page } = guest
  await page.getByRole('textbox', { name: t('entry.email') }).fill('other@example.com')
  const elsewhere = { name: 'Named elsewhere', allowed_models: ['sandbox/chat'], limit: 70, limit_reset: 'daily' }
  assert.equal((await tollgate.admin('PATCH', path, elsewhere)).status, 200)
  await page
    .locator('form')
    .getByRole('button', { name: t('common.save') })
    .focus()
  await page.keyboard.press('Enter')
  await page.getByText(t('common.saved')).first().waitFor()
  // It was disabled meanwhile.
  await isFocused(page, t('common.save'))
  const { email, name, allowed_models: models, limit, limit_reset: reset } = (await tollgate.admin('GET', path)).body
  assert.deepEqual({ name, allowed_models: models, limit, limit_reset: reset }, elsewhere)
  assert.equal(email, 'other@example.com')
  await close(guest)
})

test('a tab shows nobody who is no longer signed in in the other', { skip }, async () => {
  const owner = await signUp(tollgate, 'tabs@example.com')
  const guest = await open(owner, '/keys')
  await guest.page.getByRole('heading', { name: t('nav.keys') }).waitFor()
  const other = await guest.context.newPage()
  await other.goto(`${tollgate.url}/settings`)
  await other.getByRole('button', { name: t('shell.user_menu', { email: 'tabs@example.com' }) }).click()
  await other.getByRole('menuitem', { name: t('shell.sign_out') }).click()
  await other.getByRole('heading', { name: t('entry.sign_in') }).waitFor()
  await guest.page.waitForURL(/sign-in\?next=%2Fkeys/)
  await other.close()
  await close(guest)
})

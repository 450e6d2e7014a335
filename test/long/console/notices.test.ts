import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { namelessControls, seriousFindings, englishTexts } from '../../harness/page-findings.ts'
import { LOOKS, visitor } from '../../harness/browser.ts'
import {
  enter,
  PASSWORD,
  promote,
  signUp,
  texts,
  type Customer,
  serveConsole,
  tollgate,
  browser,
} from '../../harness/console-world.ts'
import { mailSettings, startMailServer, type MailServer } from '../../harness/mail-server.ts'
import { until } from '../../harness/patience.ts'
import { startTollgate } from '../../harness/server.ts'

let mail: MailServer

const skip = await serveConsole(async () => {
  mail = await startMailServer()
  return startTollgate({ env: { ...mailSettings(mail), TOLLGATE_LOG_LEVEL: 'error' } })
})

const operator = await promote(tollgate, await signUp(tollgate, 'root@example.com'))

const inbox = (target: string): MailServer['received'] => mail.received.filter(({ to }) => to.includes(target))

/** Another person of the account, with a session. */
async function join(owner: Customer, role: 'member' | 'billing', email: string): Promise<Customer> {
  const made = await tollgate.request('POST', '/cabinet/v1/invitations', { body: { role }, headers: owner.headers })
  const joined = await tollgate.request('POST', '/cabinet/v1/invitations/join', {
    body: { token: new URL(String(made.body.link)).searchParams.get('token'), email, password: PASSWORD },
    headers: { origin: tollgate.url },
  })
  assert.equal(joined.status, 201, joined.text)
  const cookie = (joined.headers['set-cookie'] ?? '').split(';')[0] ?? ''
  return { ...owner, email, cookie, headers: { cookie, origin: tollgate.url } }
}

for (const { language, dark } of LOOKS) {
  const t = texts(language)
  const name = `${language}-${dark ? 'dark' : 'light'}`
  const look = async (page: Page): Promise<readonly string[]> => [
    ...(await seriousFindings(page)),
    ...(await namelessControls(page)),
    ...(language === 'ru' ? await englishTexts(page) : []),
  ]

  test(
    `16 (${name}): people of an account add a receiver, confirm it, test it, send a message again and remove it; the operator adds another`,
    { skip },
    async () => {
      const owner = await signUp(tollgate, `owner-${name}@example.com`)
      const payer = await join(owner, 'billing', `payer-${name}@example.com`)
      const target = `bills-${name}@example.com`
      const guest = await visitor(browser, tollgate.url, { language, dark })
      const { page } = guest
      const problems: string[] = []
      await enter(guest.context, tollgate, payer)
      await page.goto(`${tollgate.url}/notices`)
      await page.getByRole('button', { name: t('notices.add') }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('textbox', { name: t('notices.email_target') }).fill(target)
      problems.push(...(await look(page)))
      await dialog.getByRole('button', { name: t('notices.add') }).click()
      const code = dialog.getByRole('textbox', { name: t('entry.code') })
      await code.waitFor()
      await until(10_000, 'the code', () => inbox(target).length === 1)
      const digits = /\d{6}/.exec(inbox(target)[0]?.text ?? '')?.[0] ?? ''
      await code.fill(digits === '000000' ? '000001' : '000000')
      await dialog.getByRole('button', { name: t('notices.confirm'), exact: true }).click()
      await dialog.getByText(t('check.wrong')).waitFor()
      problems.push(...(await look(page)))
      await code.fill(digits)
      await dialog.getByRole('button', { name: t('notices.confirm'), exact: true }).click()
      await page.getByRole('button', { name: t('notices.test_of', { target }) }).click()
      const row = page.getByRole('table', { name: t('notices.sent') }).getByRole('row', { name: new RegExp(target) })
      await row.getByText(t('notices.state_sent')).waitFor()
      problems.push(...(await look(page)))
      await row.getByRole('button').click()
      await until(10_000, 'the same message again', () => inbox(target).length === 3)
      const [first, again] = inbox(target).slice(1)
      assert.equal(again?.headers.get('message-id'), first?.headers.get('message-id'))

      await page.getByRole('button', { name: `${t('common.edit')}: ${target}` }).click()
      await dialog.getByRole('checkbox').first().uncheck()
      await dialog.getByRole('button', { name: t('common.save') }).click()
      await dialog.waitFor({ state: 'detached' })
      await page.getByRole('textbox', { name: t('notices.threshold') }).fill('250')
      await page.getByRole('button', { name: t('common.save') }).click()
      await page.getByText(t('common.saved')).first().waitFor()
      const kept = await tollgate.request('GET', '/cabinet/v1/notices', { headers: owner.headers })
      assert.deepEqual(
        [kept.body.low_balance, kept.body.channels[0].kinds],
        [250, ['limit.near', 'limit.reached', 'requests.refused', 'prices.coming', 'job.ended']],
      )

      const other = await visitor(browser, tollgate.url, { language, dark, width: 390 })
      await enter(other.context, tollgate, operator)
      await other.page.goto(`${tollgate.url}/operator/accounts/${owner.accountId}?tab=alerts`)
      await other.page.getByText(target).first().waitFor()
      problems.push(...(await look(other.page)))
      await other.page.getByRole('button', { name: t('notices.add') }).click()
      const form = other.page.getByRole('dialog')
      await form
        .locator('label')
        .filter({ hasText: t('notices.webhook') })
        .click()
      const hook = form.getByRole('textbox', { name: t('notices.webhook_target') })
      await hook.fill('https://127.0.0.1/')
      await form.getByRole('button', { name: t('notices.add') }).click()
      await form.getByText(t('check.webhook_address', { given: 'https://127.0.0.1/' })).waitFor()
      await hook.fill('https://hooks.example.com/path-of-theirs')
      await form.getByRole('button', { name: t('notices.add') }).click()
      assert.match(await form.getByRole('region', { name: t('notices.secret') }).innerText(), /^whsec_/)
      problems.push(...(await look(other.page)))
      await form.getByRole('button', { name: t('notices.secret_kept') }).click()
      await other.page.getByText('https://hooks.example.com/…').first().waitFor()

      await page.reload()
      await page.getByText('https://hooks.example.com/path-of-theirs').first().waitFor()
      await page.getByRole('button', { name: `${t('common.delete')}: ${target}` }).click()
      await dialog.getByRole('button', { name: t('common.delete'), exact: true }).click()
      await page.getByText(t('notices.deleted')).waitFor()
      assert.equal(await page.getByText(target).count(), 0)
      assert.deepEqual([...problems, ...guest.troubles, ...other.troubles], [])
      await other.close()
      await guest.close()
    },
  )
}

test('16: a member, who sees no money, has no page of notices', { skip }, async () => {
  const t = texts('en')
  const owner = await signUp(tollgate, 'roles@example.com')
  const member = await join(owner, 'member', 'roles-member@example.com')
  const guest = await visitor(browser, tollgate.url, { language: 'en' })
  await enter(guest.context, tollgate, member)
  await guest.page.goto(tollgate.url)
  await guest.page.getByRole('link', { name: t('nav.people') }).waitFor()
  assert.equal(await guest.page.getByRole('link', { name: t('nav.notices') }).count(), 0)
  await guest.close()
})

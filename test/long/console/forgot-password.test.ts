import assert from 'node:assert/strict'
import { test } from 'node:test'
import { visitor } from '../../harness/browser.ts'
import { signUp, texts, serveConsole, tollgate, browser } from '../../harness/console-world.ts'
import { casesOf } from '../../harness/form.ts'
import { mailSettings, startMailServer, type MailServer } from '../../harness/mail-server.ts'
import { until } from '../../harness/patience.ts'
import { startTollgate } from '../../harness/server.ts'

let mail: MailServer

const skip = await serveConsole(async () => {
  mail = await startMailServer()
  return startTollgate({
    env: { TOLLGATE_LOG_LEVEL: 'error', TOLLGATE_PUBLIC_URL: 'http://console.example.com', ...mailSettings(mail) },
  })
})

for (const language of casesOf(['ru', 'en'] as const, ['ru'])) {
  const t = texts(language)

  test(`(${language}): a forgotten password is replaced through a link in a letter`, { skip }, async () => {
    const email = `forgetful.${language}@example.com`
    await signUp(tollgate, email)
    const { page, troubles, close } = await visitor(browser, tollgate.url, { language })
    await page.goto(`${tollgate.url}/sign-in`)
    await page.getByRole('link', { name: t('entry.forgot') }).click()
    await page.getByLabel(t('entry.email')).fill(email)
    await page.getByRole('button', { name: t('entry.reset_send') }).click()
    await page
      .getByRole('status')
      .filter({ hasText: t('entry.reset_sent') })
      .waitFor()
    await until(20_000, 'the letter has arrived', async () => mail.received.some(({ to }) => to.includes(email)))
    const link = new URL(/http:\S+/.exec(mail.received.at(-1)?.text ?? '')?.[0] ?? '')
    assert.equal(link.host, 'console.example.com')
    await page.goto(`${tollgate.url}${link.pathname}${link.search}`)
    await page.getByRole('textbox', { name: t('entry.password') }).fill('eleven quiet lanterns')
    await page.getByRole('button', { name: t('entry.setup_submit') }).click()
    await page.waitForURL(`${tollgate.url}/`)
    assert.deepEqual(troubles, [])
    await close()
  })
}

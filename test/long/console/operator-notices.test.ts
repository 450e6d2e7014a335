import assert from 'node:assert/strict'
import { test, after } from 'node:test'
import { namelessControls, seriousFindings, englishTexts } from '../../harness/page-findings.ts'
import { LOOKS, visitor } from '../../harness/browser.ts'
import { enter, promote, signUp, texts, serveConsole, tollgate, browser } from '../../harness/console-world.ts'
import { startReceivers, type NoticeReceivers } from '../../harness/notice-receivers.ts'
import { until } from '../../harness/patience.ts'
import { startTollgate } from '../../harness/server.ts'

let receivers: NoticeReceivers

const skip = await serveConsole(async () => {
  receivers = await startReceivers()
  return startTollgate({ env: { ...receivers.env, TOLLGATE_LOG_LEVEL: 'error' } })
})

const operator = await promote(tollgate, await signUp(tollgate, 'root@example.com'))

after(() => receivers.close())

for (const { language, dark } of LOOKS) {
  const t = texts(language)
  test(
    `16 (${language}, ${dark ? 'dark' : 'light'}): a receiver is added, tested, sent the same again, and removed`,
    { skip },
    async () => {
      const target = `ops-${language}-${dark}@example.com`
      const guest = await visitor(browser, tollgate.url, { language, dark })
      const { page } = guest
      const problems: string[] = []
      const look = async (): Promise<void> => {
        problems.push(
          ...(await seriousFindings(page)),
          ...(await namelessControls(page)),
          ...(language === 'ru' ? await englishTexts(page) : []),
        )
      }
      await enter(guest.context, tollgate, operator)
      await page.goto(`${tollgate.url}/operator/notices`)
      await page.getByRole('button', { name: t('notices.add') }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('textbox', { name: t('notices.email_target') }).fill(target)
      await look()
      await dialog.getByRole('button', { name: t('notices.add') }).click()
      const before = receivers.taken().length
      await page.getByRole('button', { name: t('notices.test_of', { target }) }).click()
      const messages = page.getByRole('table', { name: t('notices.sent') })
      const sent = messages.getByRole('row', { name: new RegExp(target) }).getByText(t('notices.state_sent'))
      await sent.waitFor()
      await look()
      await messages
        .getByRole('row', { name: new RegExp(target) })
        .getByRole('button')
        .click()
      await page.getByText(t('notices.replayed')).waitFor()
      // The row says "sent" of the first time until the page has read it again.
      await until(10_000, 'the second message', () => receivers.taken().length === before + 2)
      const [first, second] = receivers.taken().slice(before)
      assert.equal(first?.id, second?.id)
      await page.getByRole('button', { name: `${t('common.delete')}: ${target}` }).click()
      await page
        .getByRole('dialog')
        .getByRole('button', { name: t('common.delete'), exact: true })
        .click()
      await page.getByText(t('notices.deleted')).waitFor()
      assert.equal(await page.getByText(target).count(), 0)
      assert.deepEqual([...problems, ...guest.troubles], [])
      await guest.close()
    },
  )
}

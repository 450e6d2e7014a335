import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Locator } from 'playwright-core'
import { LOOKS, visitor } from '../../harness/browser.ts'
import { browser, chat, PASSWORD, serveConsole, texts } from '../../harness/console-world.ts'
import { lasting } from '../../harness/lasting.ts'
import { findings } from '../../harness/page-findings.ts'
import { completion } from '../../harness/provider-answers.ts'
import { listen, sendJson } from '../../harness/scripted-upstream.ts'
import { startTollgate, type Tollgate } from '../../harness/server.ts'

/** From an empty folder to the first answer, by what a newcomer sees: links, buttons and labels. */

const start = (): Promise<Tollgate> =>
  startTollgate({ env: { TOLLGATE_LOG_LEVEL: 'error', ALLOW_PRIVATE_UPSTREAMS: 'true' } })
const skip = await serveConsole(start)
const upstream = await listen((response, { path }) =>
  sendJson(
    response,
    path.endsWith('/models')
      ? { data: [{ id: 'large' }] }
      : completion({ content: 'Hello' }, { usage: { prompt_tokens: 10, completion_tokens: 5 } }),
  ),
)
/** The whole way takes so many; at 3 s a click and 5 s a field that is under two minutes. */
const CLICKS = 15
const FIELDS = 11

for (const { language, dark } of LOOKS) {
  const t = texts(language)

  test(
    `a newcomer has a first answer after ${CLICKS} clicks and ${FIELDS} fields (${language})`,
    { skip },
    async () => {
      const tollgate = await lasting(start())
      const guest = await visitor(browser, tollgate.url, { language, dark })
      const { page } = guest
      const spent = { clicks: 0, fields: 0 }
      const click = async (what: Locator): Promise<void> => {
        spent.clicks += 1
        await what.click()
      }
      const type = async (what: Locator, text: string): Promise<void> => {
        spent.fields += 1
        await what.fill(text)
      }
      const press = (name: string): Promise<void> => click(page.getByRole('button', { name, exact: true }))
      const follow = (name: string): Promise<void> => click(page.getByRole('link', { name, exact: true }))
      const problems: string[] = []
      const look = async (): Promise<void> => {
        await guest.settled()
        problems.push(...(await findings(page, language)))
      }

      const [link = ''] = /http\S+\/setup\?token=[\w-]+/.exec(tollgate.logs().join('\n')) ?? []
      await page.goto(link)
      await type(page.getByLabel(t('entry.email')), 'root@example.com')
      await type(page.getByRole('textbox', { name: t('entry.password') }), PASSWORD)
      await press(t('entry.setup_submit'))

      await follow(t('first_run.provider'))
      await click(page.getByRole('button', { name: new RegExp(`^${t('connect.own')}`) }))
      const name = language === 'ru' ? 'Южный щит' : 'South'
      await type(page.getByLabel(t('keys.name')).first(), name)
      await type(page.getByLabel(t('providers.address')), `${upstream.url}/v1`)
      await type(page.getByRole('textbox', { name: t('providers.key') }), 'sk-south')
      await press(t('connect.test'))
      const slug = language === 'ru' ? 'yuzhnyy-shchit' : 'south'
      const row = page.getByRole('row', { name: new RegExp(`${slug}/large`) })
      await click(row.getByRole('checkbox'))
      // Without a rate of a foreign currency, prices are in rubles.
      await type(row.getByPlaceholder(t('price.prompt')), '100')
      await type(row.getByPlaceholder(t('price.completion')), language === 'ru' ? '300,5' : '300.5')
      await look()
      await press(t('connect.save'))
      await page.getByText(t('common.saved')).waitFor()

      await follow(t('nav.accounts'))
      await press(t('accounts.create'))
      const dialog = page.getByRole('dialog')
      await type(dialog.getByLabel(t('keys.name')), language === 'ru' ? 'ООО «Ромашка»' : 'Daisy Ltd')
      await click(dialog.getByRole('button', { name: t('accounts.create') }))
      await look()
      await follow(t('accounts.no_money'))
      await type(page.getByLabel(t('money.amount')), '500')
      await type(page.getByLabel(t('ledger.reason')), language === 'ru' ? 'Первая оплата' : 'First payment')
      await press(t('accounts.do_topup'))
      await click(dialog.getByRole('button', { name: t('accounts.do_topup') }))
      await page.getByText(t('accounts.posted')).waitFor()
      await click(page.getByRole('tab', { name: t('nav.keys') }))
      await press(t('keys.create'))
      await type(dialog.getByLabel(t('keys.name')), language === 'ru' ? 'сайт' : 'site')
      await click(dialog.getByRole('button', { name: t('keys.create') }))
      await look()

      // What is shown works as it is: the key and a model that is on sale.
      const shown = await dialog.getByRole('region', { name: t('home.snippet') }).innerText()
      const [key = ''] = /sk-tg-[\w-]+/.exec(shown) ?? []
      const answer = await chat(tollgate, key, 'Hello', {}, { model: `${slug}/large` })
      assert.equal(answer.status, 200, answer.text)
      assert.ok(shown.includes(`"${slug}/large"`), shown)
      assert.deepEqual(spent, { clicks: CLICKS, fields: FIELDS })
      assert.deepEqual([...problems, ...guest.troubles], [])
      await guest.close()
    },
  )
}

import assert from 'node:assert/strict'
import { createFormat } from '../../../console/src/parts/format.ts'
import { test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { wavFile } from '../../harness/audio-files.ts'
import { visitor } from '../../harness/browser.ts'
import { enter, makeKey, signUp, texts, serveConsole, tollgate, browser } from '../../harness/console-world.ts'
import { casesOf } from '../../harness/form.ts'

type Texts = ReturnType<typeof texts>

interface Tab {
  readonly kind: 'image' | 'tts' | 'transcription' | 'embeddings' | 'rerank' | 'moderation' | 'video'
  readonly fill: (panel: Locator, t: Texts) => Promise<void>
  /** What the answer looks like. */
  readonly answered: (panel: Locator, page: Page, t: Texts) => Promise<void>
}

const TABS: readonly Tab[] = [
  {
    kind: 'image',
    fill: (panel, t) => panel.getByLabel(t('play.prompt')).fill('a gate at dawn'),
    answered: async (panel, page, t) => {
      await panel.getByRole('img', { name: t('play.image_alt', { number: '1', prompt: 'a gate at dawn' }) }).waitFor()
      assert.ok(
        (await page.evaluate<number>(
          "(async () => { const picture = document.querySelector('[role=tabpanel] img'); await picture.decode(); return picture.naturalWidth })()",
        )) > 0,
      )
    },
  },
  {
    kind: 'tts',
    fill: (panel, t) => panel.getByRole('textbox', { name: t('play.text') }).fill('The gate is open'),
    answered: async (panel, _page, t) => {
      await panel.getByLabel(t('play.audio')).waitFor()
      assert.match((await panel.getByLabel(t('play.audio')).getAttribute('src')) ?? '', /^blob:/)
    },
  },
  {
    kind: 'transcription',
    fill: async (panel, t) => {
      await panel
        .locator('input[type=file]')
        .setInputFiles({ name: 'two-seconds.wav', mimeType: 'audio/wav', buffer: wavFile(2) })
      await panel.getByText('two-seconds.wav').waitFor()
      await panel.getByLabel(t('play.language')).fill('en')
    },
    answered: async (panel) => assert.ok((await panel.getByRole('status').last().innerText()).length > 3),
  },
  {
    kind: 'embeddings',
    fill: (panel, t) => panel.getByLabel(t('play.lines')).fill('gate\ntoll\nriver'),
    answered: async (panel) => {
      await panel.getByRole('row').nth(3).waitFor()
      assert.match(await panel.getByRole('row').nth(1).getByRole('cell').last().innerText(), /^1$/)
    },
  },
  {
    kind: 'rerank',
    fill: async (panel, t) => {
      await panel.getByLabel(t('play.query')).fill('what opens the gate?')
      await panel.getByLabel(t('play.documents')).fill('a river\nthe key opens the gate')
    },
    answered: async (panel) => {
      await panel.getByRole('row').nth(2).waitFor()
      assert.match(await panel.getByRole('row').nth(1).innerText(), /the key opens the gate/)
    },
  },
  {
    kind: 'moderation',
    fill: (panel, t) => panel.getByLabel(t('play.lines')).fill('a quiet gate\nviolence at the gate'),
    answered: async (panel, _page, t) => {
      await panel.getByRole('row').nth(2).waitFor()
      assert.match(await panel.getByRole('row').nth(1).innerText(), new RegExp(t('play.no_flags')))
      assert.match(await panel.getByRole('row').nth(2).innerText(), /violence/)
    },
  },
  {
    kind: 'video',
    fill: (panel, t) => panel.getByLabel(t('play.prompt')).fill('a gate opens'),
    answered: async (panel) => {
      await panel.locator('video').waitFor()
      assert.match((await panel.locator('video').getAttribute('src')) ?? '', /\/videos\/content\?/)
    },
  },
]

const skip = await serveConsole()

for (const language of casesOf(['ru', 'en'] as const, ['ru'])) {
  const t = texts(language)
  for (const { kind, fill, answered } of TABS) {
    test(`6 (${language}): the playground's tab ${kind} answers and costs what the log says`, { skip }, async () => {
      const guest = await visitor(browser, tollgate.url, { language })
      const { page } = guest
      const customer = await signUp(tollgate, `${kind}.${language}@example.com`)
      await makeKey(tollgate, customer, { name: 'playground' })
      await enter(guest.context, tollgate, customer)
      await page.goto(`${tollgate.url}/playground`)
      await page.getByRole('tab', { name: t(`type.${kind}`), exact: true }).click()
      const panel = page.getByRole('tabpanel')
      await fill(panel, t)
      await panel.getByRole('button', { name: t('play.run') }).click()
      const cost = panel.getByRole('status').filter({ hasText: t('play.cost', { amount: '' }).trim() })
      await cost.waitFor({ timeout: 60_000 })
      await answered(panel, page, t)
      const shown = (await cost.innerText()).replace(t('play.cost', { amount: '' }), '').trim()
      const [row] = (await tollgate.request('GET', '/cabinet/v1/log?limit=5', { headers: customer.headers })).body.data
      assert.ok(row.cost > 0)
      assert.equal(shown, createFormat(language, 'UTC').money(row.cost))
      await guest.follow('/log')
      const cells = page
        .getByRole('row')
        .filter({ hasText: `sandbox/${kind}` })
        .getByRole('cell')
      assert.equal((await cells.last().innerText()).trim(), shown)
      assert.deepEqual(guest.troubles, [])
      await guest.close()
    })
  }
}

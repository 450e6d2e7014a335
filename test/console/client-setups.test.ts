import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { CLIENT_SETUPS } from '../../src/tables/client-setups.ts'

const PAGES = join(import.meta.dirname, '../../docs/clients')
const ROOT = 'https://ai.example'

for (const { name, page, pageModel, parts } of CLIENT_SETUPS)
  test(`the console shows the settings of ${name} as its page does`, () => {
    const text = readFileSync(join(PAGES, `${page}.md`), 'utf8')
    const shown = parts({ root: ROOT, base: `${ROOT}/v1`, key: 'sk-tg-…', model: pageModel })
    assert.ok(shown.length > 0)
    for (const { file, text: setting } of shown) {
      assert.ok(text.includes(`\n${setting}\n`), `${page} does not have:\n${setting}`)
      // Files of code may have any name.
      if (file?.startsWith('main.') === false) assert.ok(text.includes(file), `${page} does not name ${file}`)
    }
  })

test('an address that is not the example reaches every setting, and nothing of the example stays', () => {
  const facts = { root: 'http://10.0.0.1:8080', base: 'http://10.0.0.1:8080/v1', key: 'sk-tg-abc', model: 'm/one' }
  for (const { name, parts } of CLIENT_SETUPS) {
    const all = parts(facts)
      .map(({ text }) => text)
      .join('\n')
    assert.ok(all.includes(facts.root), name)
    assert.ok(all.includes(facts.key), name)
    assert.ok(!all.includes('ai.example'), name)
  }
})

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { CONSOLE_PAGES } from './console-pages.ts'

const ROOT = join(import.meta.dirname, '../..')

test('every route of the console has a page to photograph, in their order', () => {
  const router = readFileSync(join(ROOT, 'console/src/router.tsx'), 'utf8')
  const routes = [...router.matchAll(/\b(?:page|firstPage|operatorPage)\(\s*'([^']+)'/g)].map(([, path]) => path)
  assert.ok(routes.length > 30, 'the routes were found')
  assert.deepEqual(
    CONSOLE_PAGES.map(({ route }) => route),
    routes,
  )
})

test('every page has its pictures: light, dark and on a phone', () => {
  const pictures = new Set(readdirSync(join(ROOT, 'docs/console')))
  const missing = CONSOLE_PAGES.flatMap(({ name }) =>
    ['', '-dark', '-phone'].map((look) => `${name}${look}.webp`).filter((file) => !pictures.has(file)),
  )
  assert.deepEqual(missing, [])
})

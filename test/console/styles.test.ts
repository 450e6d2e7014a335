import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '../..')
const STYLES = '@mantine/core/styles/'
const IMPORTS = /import (?:type )?\{([^}]*)\} from '@mantine\/core'/g

test('each component of the library has its styles: the console loads none but those it names', () => {
  const files = globSync('console/src/**/*.{ts,tsx,css}', { cwd: ROOT }).map((path) =>
    readFileSync(join(ROOT, path), 'utf8'),
  )
  const used = new Set(
    files.flatMap((text) =>
      [...text.matchAll(IMPORTS)].flatMap(([, names = '']) => names.split(',').map((name) => name.trim())),
    ),
  )
  assert.ok(used.size > 50, String(used.size))
  const lacking = [...used].filter(
    (name) =>
      existsSync(join(ROOT, 'node_modules', STYLES, `${name}.css`)) &&
      !files.some((text) => text.includes(`${STYLES}${name}.css`)),
  )
  assert.deepEqual(lacking, [])
})

test('no field cuts what is typed in silence, and no form leaves its words to the browser', () => {
  // Its message has no limit and no required field.
  const others = new Set(['console/src/parts/CheckedForm.tsx', 'console/src/pages/playground/MessageForm.tsx'])
  const found = globSync('console/src/**/*.tsx', { cwd: ROOT }).filter((path) => {
    const text = readFileSync(join(ROOT, path), 'utf8')
    return /\bmaxLength=/.test(text) || (/<form\b/.test(text) && !others.has(path))
  })
  assert.deepEqual(found, [])
})

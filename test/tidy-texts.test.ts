import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { codeOnly } from './harness/source-tree.ts'

const ROOT = join(import.meta.dirname, '..')
const BLIND = /(?<![\w.])String\s*\(/

/** Files that may, each with the reason. */
const NUMBERS: Readonly<Record<string, string>> = {
  'src/kinds/fields/json-fields.ts': '`quoted` itself, which looks first',
  'src/kinds/fields/provider-preferences.ts': 'of a number',
  'src/kinds/transcription/render.ts': 'of numbers',
  'src/operations/audio-usage.ts': 'of a number',
  'src/paid/paid-answer.ts': 'of a number',
}

test("where bodies are read, no unknown value becomes a text by String(): its toString may be the sender's", () => {
  const blind = globSync(['src/kinds/**/*.ts', 'src/operations/*.ts', 'src/paid/*.ts'], { cwd: ROOT }).filter(
    (path) => !path.endsWith('.test.ts') && BLIND.test(codeOnly(readFileSync(join(ROOT, path), 'utf8'))),
  )
  assert.deepEqual(blind.toSorted(), Object.keys(NUMBERS), '`quoted` and `wordOf` look first')
})

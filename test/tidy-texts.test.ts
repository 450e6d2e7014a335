import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { codeOnly } from './harness/source-tree.ts'

const ROOT = join(import.meta.dirname, '..')
const BLIND = /(?<![\w.])String\s*\(/

/** Files that may, each with the reason. */
const NUMBERS: Readonly<Record<string, string>> = {
  'src/kinds/fields/body-fields.ts': '`quoted` itself, which looks first',
  'src/kinds/fields/routed-request.ts': 'of a number',
  'src/protocols/gemini/client/calls.ts': 'of a number',
  'src/protocols/openai/client/transcript.ts': 'of numbers',
  'src/pay/operations/transcription-kind.ts': 'of a number',
  'src/pay/paid/paid-routes.ts': 'of a number',
}

test("where bodies are read, no unknown value becomes a text by String(): its toString may be the sender's", () => {
  const blind = globSync(
    ['src/kinds/**/*.ts', 'src/protocols/*/client/**/*.ts', 'src/pay/operations/*.ts', 'src/pay/paid/*.ts'],
    { cwd: ROOT },
  ).filter((path) => !path.endsWith('.test.ts') && BLIND.test(codeOnly(readFileSync(join(ROOT, path), 'utf8'))))
  assert.deepEqual(blind.toSorted(), Object.keys(NUMBERS).toSorted(), '`quoted` and `wordOf` look first')
})

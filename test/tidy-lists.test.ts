import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

const PAGES = 'console/src'
/** Their rows are few by nature, or belong to a form; a comment at each component says which. */
const PLAIN = [
  'pages/home/HomePage.tsx',
  'pages/operator/OperatorHomePage.tsx',
  'pages/operator/connect/OfferedModels.tsx',
  'pages/playground/LinesTab.tsx',
  'pages/usage/RequestPage.tsx',
]
/** Numbered rows, blocks of rows, or one failure of a few: each has a bound of its own on what it skips. */
const SKIPPING = ['log/log-store.ts', 'log/query.ts', 'page.ts', 'people/sign-in-store.ts']

function filesWith(folder: string, pattern: string, text: RegExp): readonly string[] {
  return globSync(pattern, { cwd: folder })
    .filter((file) => text.test(readFileSync(`${folder}/${file}`, 'utf8')))
    .toSorted()
}

test('a list of records is sorted, has columns to choose and a file: only named pages have a plain one', () => {
  assert.deepEqual(filesWith(PAGES, '**/*.tsx', /<List\b/), PLAIN)
})

test('only code that bounds the rows it skips skips rows', () => {
  assert.deepEqual(filesWith('src/store', '**/*.ts', /\bOFFSET\b/), SKIPPING)
})

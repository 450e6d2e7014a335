import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { deadCitations, readPage, readReference, type Reference } from './harness/citations.ts'

const ROOT = join(import.meta.dirname, '..')
/** Recordings are data without citations. */
const DATA = /^test\/recordings\/|^console\/dist\/|\/node_modules\//
/** This file contains the dead citations that it refuses. */
const SELF = 'test/tidy-citations.test.ts'
const PATHS = globSync(
  ['*.md', '{src,test,bench,scripts,bin,console/src}/**/*.{ts,tsx,js,md}', 'docs/**/*.md', 'console/*.ts'],
  { cwd: ROOT },
).filter((path) => !DATA.test(path) && path !== SELF)

test('every citation of a document, a section or a numbered rule leads to one that is there', () => {
  const reference = readReference()
  assert.ok(PATHS.length > 900 && reference.pages.size > 5)
  const dead = PATHS.flatMap((path) =>
    deadCitations(path, readFileSync(join(ROOT, path), 'utf8'), reference).map((citation) => `${path}: ${citation}`),
  )
  assert.deepEqual(dead, [])
})

test('a citation that leads nowhere is found, in each of its forms', () => {
  const wire = readPage('## 1. One\n### 1.2 Two\n#### D-1.1 Record\n| C1 | fact |\n')
  const guarantees = readPage('## 4. Rules\n| Rule | Case |\n|---|---|\n| 8 | x |\n| 9 | y |\n\n| F1 | fault |\n')
  const api = readPage('### POST /v1/rerank\n')
  const pages = new Map([
    ['wire.md', wire],
    ['guarantees.md', guarantees],
    ['api.md', api],
  ])
  const reference: Reference = { pages, exists: (path) => path === 'docs/errors.md' }
  const dead = (text: string): readonly string[] => deadCitations('src/x.ts', text, reference)
  for (const text of [
    'wire.md D-1.1',
    'wire.md 1',
    'wire.md 1 and 1.2',
    '(D-1.1)',
    'wire.md C1',
    'guarantees.md rule 8',
    'rules 8 and 9',
    'rules 8 to 9',
    'F1: x',
    'guarantees.md F1',
    'api.md POST /v1/rerank, wire.md 1.2',
    'docs/errors.md',
    '../docs/errors.md',
    'guarantees.md 4',
  ]) {
    assert.deepEqual(dead(text), [], text)
  }
  for (const [text, citation] of [
    ['(wire.md D-9.9)', 'D-9.9'],
    ['see wire.md 7.3.', 'wire.md 7.3'],
    ['wire.md 1 and 3', 'wire.md 1 and 3'],
    ['wire.md F1', 'wire.md F1'],
    ['rule 10', 'rule 10'],
    ['rules 8 and 10', 'rules 8 and 10'],
    ['requirement 8', 'requirement 8'],
    ['F2: x', 'F2'],
    ['R9', 'R9'],
    ['api.md GET /v1/rerank', 'api.md GET /v1/rerank'],
    ['reliability.md 3.5', 'reliability.md'],
    ['docs/none.md', 'docs/none.md'],
    ['section 1', 'section 1'],
  ] as const) {
    assert.ok(dead(text).includes(citation), `${text}: ${dead(text).join()}`)
  }
  assert.deepEqual(
    deadCitations('docs/reference/wire.md', 'section 1.2, section 4 of guarantees.md, [x](none.md)', reference),
    [],
  )
})

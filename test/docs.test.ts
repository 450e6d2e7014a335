import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { ERRORS } from '../src/errors.ts'
import { COVERED, type TableCover } from '../src/store/columns.ts'

const ROOT = join(import.meta.dirname, '..')
const PAGES = ['README.md', 'CONTRIBUTING.md', ...globSync('docs/**/*.md', { cwd: ROOT }).toSorted()]

interface ErrorRow {
  readonly status: number
  readonly errorType: string
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

/** `| 400 | `missing_model` | … |` rows of the page. */
function documentedErrors(page: string): readonly ErrorRow[] {
  return [...page.matchAll(/^\| (\d{3}) \| `([a-z0-9_]+)` \| \S/gm)].map(([, status, errorType = '']) => ({
    status: Number(status),
    errorType,
  }))
}

function sorted(rows: readonly ErrorRow[]): string[] {
  return rows.map(({ status, errorType }) => `${status} ${errorType}`).toSorted()
}

test('docs/errors.md and src/errors.ts name the same errors with the same statuses, both ways', () => {
  const table: ErrorRow[] = Object.entries(ERRORS).map(([name, row]) => ({
    status: row.status,
    errorType: 'errorType' in row ? row.errorType : name,
  }))
  assert.deepEqual(sorted(documentedErrors(read('docs/errors.md'))), sorted(table))
})

test('docs/reliability.md and src/store/columns.ts say the same of what protects each table', () => {
  const tables: readonly (readonly [string, TableCover])[] = Object.entries(COVERED)
  const list = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ')
  const rows = tables.map(
    ([table, { sealed = [], chained = [], checked = {} }]) =>
      `| \`${table}\` | ${list([...sealed, ...chained])} | ${Object.entries(checked)
        .map(([name, by]) => `\`${name}\` ${by}`)
        .join('; ')} |`,
  )
  const page = read('docs/reliability.md')
  assert.deepEqual(
    rows.filter((row) => !page.includes(`${row}\n`)),
    [],
  )
})

test('every link between pages leads somewhere', () => {
  const broken = PAGES.flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)/g)].flatMap(([, target = '']) =>
      existsSync(join(ROOT, dirname(page), target)) ? [] : [`${page} → ${target}`],
    ),
  )
  assert.deepEqual(broken, [])
})

test('every source path that a page names exists', () => {
  const gone = PAGES.flatMap((page) =>
    [...read(page).matchAll(/`((?:src|test|bench|bin|docs)\/[\w./-]+)`/g)].flatMap(([, path = '']) =>
      existsSync(join(ROOT, path)) ? [] : [`${page}: ${path}`],
    ),
  )
  assert.deepEqual(gone, [])
})

test('every folder of src stands in docs/architecture.md', () => {
  const page = read('docs/architecture.md')
  const folders = new Set(globSync('src/*/**/*.ts', { cwd: ROOT }).map((path) => path.split('/')[1] ?? ''))
  assert.deepEqual(
    [...folders].filter((folder) => !page.includes(`\`${folder}\``)),
    [],
  )
})

test('docs/settings.md has a row for every setting that is read, and for no other', () => {
  const named = (text: string, pattern: RegExp): string[] =>
    [...new Set([...text.matchAll(pattern)].map(([, name = '']) => name))].toSorted()
  const rows = read('docs/settings.md')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split(' | ')[0])
    .join('\n')
  assert.deepEqual(
    named(rows, /`([A-Z_]+)`/g),
    named(
      read('src/config.ts'),
      /'((?:TOLLGATE|OTEL|OIDC|YOOKASSA)_[A-Z_]+|HOST|PORT|DATABASE_URL|VALKEY_URL|TRUSTED_PROXIES|ALLOW_PRIVATE_UPSTREAMS)'/g,
    ),
  )
})

import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { withRouteTables } from '../scripts/api-page.ts'
import { withErrorTables } from '../scripts/error-page.ts'
import { withSettingTables } from '../scripts/settings-page.ts'
import { RUSSIAN, SECTIONS } from '../scripts/site/navigation.ts'
import { BOUNDS } from '../src/access/rate-limit.ts'
import { KNOWN_ADAPTERS } from '../src/protocols/index.ts'
import { VARIABLES } from '../src/tables/environment-table.ts'
import { ERRORS } from '../src/base/error-table.ts'
import { SETTING_ROWS, type NumberFields, type TextFields } from '../src/tables/settings-table.ts'
import { withShownTable } from './clients/shown.ts'

const ROOT = join(import.meta.dirname, '..')
const PAGES = ['README.md', 'CONTRIBUTING.md', ...globSync('docs/**/*.md', { cwd: ROOT }).toSorted()]

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

test('docs/errors.md has the tables of src/base/error-table.ts: `npm run docs` writes them', () => {
  const page = read('docs/errors.md')
  assert.equal(page, withErrorTables(page))
  for (const [name, row] of Object.entries(ERRORS))
    assert.ok(page.includes(`| ${row.status} | \`${'errorType' in row ? row.errorType : name}\` | `), name)
})

test('docs/reference/api.md has the tables of the routes: `npm run docs` writes them', () => {
  const page = read('docs/reference/api.md')
  assert.equal(page, withRouteTables(page))
})

test('docs/clients/shown.md says what the tests of the clients show of each: `npm run docs` writes it', () => {
  const page = read('docs/clients/shown.md')
  assert.equal(page, withShownTable(page))
  assert.ok(page.includes('| Claude Code | with `--output-format=json` |'))
})

/**
 * The lines of a page that a person writes. `npm run docs` makes the tables of errors and clients, what follows the
 * mark of the settings, and a section of the API from the line with "Needs …" on.
 */
function handLines(path: string): number {
  const page = read(path)
  const made =
    path === 'docs/reference/api.md'
      ? [
          ...page.matchAll(
            /^.*\bNeeds (?:an API key|a management key|no key)\.[\s\S]*?(?=^#{2,3} |(?![\s\S]))|^## Records\n[\s\S]*/gm,
          ),
        ]
      : path === 'docs/errors.md' || path === 'docs/clients/shown.md'
        ? [...page.matchAll(/^\|.*\n/gm)]
        : [...page.matchAll(/^<!-- made [\s\S]*/gm)]
  return made.reduce((left, [part]) => left - part.split('\n').length + 1, page.split('\n').length - 1)
}

test('the pages have at most 6,000 lines by hand: what is said twice, or belongs into a decision, goes', () => {
  const pages = PAGES.filter((path) => path.startsWith('docs/'))
  const lines = pages.reduce((sum, path) => sum + handLines(path), 0)
  assert.ok(lines > 4_000 && lines <= 6_000, String(lines))
})

test('the site has a place for each page, and no place for another: its build refuses that later', () => {
  const named = [...SECTIONS.flatMap(([, pages]) => pages), ...RUSSIAN]
  const pages = PAGES.filter((path) => path.startsWith('docs/') && !path.startsWith('docs/decisions/'))
  assert.deepEqual(named.toSorted(), pages.map((path) => path.slice('docs/'.length, -'.md'.length)).toSorted())
})

test('docs/reference/guarantees.md has each row of src/access/rate-limit.ts', () => {
  const page = read('docs/reference/guarantees.md')
  const rows = Object.values(BOUNDS).map(
    ({ what, most, per }) => `| ${what} | ${most.toLocaleString('en')} ${per === 'hour' ? 'an' : 'a'} ${per} | `,
  )
  assert.deepEqual(
    rows.filter((row) => !page.includes(`\n${row}`)),
    [],
  )
})

test('docs/providers.md and src/protocols/index.ts name the same adapters, with the same addresses', () => {
  const page = read('docs/providers.md')
  const [table = ''] = /^\| `adapter` \|(?:.*\n)+?(?=\n)/m.exec(page) ?? []
  const rows = new Map([...table.matchAll(/^\| `([a-z0-9-]+)` \| .*$/gm)].map(([row, name = '']) => [name, row]))
  for (const [name, { baseUrl }] of KNOWN_ADAPTERS) {
    const about = rows.get(name) ?? page.split('\n## ').find((part) => part.includes(`Adapter \`${name}\``))
    assert.ok(about !== undefined, `docs/providers.md says nothing of the adapter ${name}`)
    if (rows.has(name) && baseUrl !== null && baseUrl !== '') assert.ok(about.includes(`\`${baseUrl}\``), about)
  }
})

/** The names by which GitHub links to the headings of a page. */
function anchorsOf(page: string): ReadonlySet<string> {
  const anchors = new Set<string>()
  for (const [, heading = ''] of read(page)
    .replaceAll(/^```.*?^```/gms, '')
    .matchAll(/^#+ (.+)$/gm)) {
    const plain = heading
      .replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, '')
      .toLowerCase()
      .replaceAll(' ', '-')
    let [anchor, times] = [plain, 0]
    while (anchors.has(anchor)) anchor = `${plain}-${(times += 1)}`
    anchors.add(anchor)
  }
  return anchors
}

test('every link between pages leads to a file that is there, of a page of the site within the site, and to a heading in it', () => {
  const broken = PAGES.flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/g)].flatMap(([, target = '', anchor]) => {
      const path = target === '' ? page : join(dirname(page), target)
      const leads =
        existsSync(join(ROOT, path)) &&
        (!page.startsWith('docs/') || path.startsWith('docs/')) &&
        (anchor === undefined || !path.endsWith('.md') || anchorsOf(path).has(anchor))
      return leads ? [] : [`${page} → ${target}${anchor === undefined ? '' : `#${anchor}`}`]
    }),
  )
  assert.deepEqual(broken, [])
})

test('the reference names only errors that there are', () => {
  const names: ReadonlySet<string> = new Set(
    Object.entries(ERRORS).map(([name, row]) => ('errorType' in row ? row.errorType : name)),
  )
  const listed = (page: string, pattern: RegExp): string[] =>
    [...read(page).matchAll(pattern)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([a-z_]+)`/g)].map(([, name = '']) => `${page}: ${name}`),
    )
  const found = [
    ...listed('docs/reference/wire.md', /^\| \d{3} \| (`[a-z_]+`(?:, `[a-z_]+`)*) \|/gm),
    ...listed('docs/reference/api.md', /\bErrors: ([^.]*)\./g),
  ]
  assert.ok(found.length > 80)
  assert.deepEqual(
    found.filter((name) => !names.has(name.split(': ')[1] ?? '')),
    [],
  )
})

test('every source path that a page names exists', () => {
  const gone = PAGES.flatMap((page) =>
    [...read(page).matchAll(/`((?:src|test|bench|bin|docs)\/[\w./-]+)`/g)].flatMap(([, path = '']) =>
      existsSync(join(ROOT, path)) ? [] : [`${page}: ${path}`],
    ),
  )
  assert.deepEqual(gone, [])
})

test('every `npm run` that a page shows is a script, and CONTRIBUTING.md shows every script', () => {
  // Our own manifest.
  const { scripts } = JSON.parse(read('package.json')) as { readonly scripts: Readonly<Record<string, string>> }
  const shown = (page: string): readonly string[] =>
    [...read(page).matchAll(/\bnpm (?:run )?([a-z]+(?::[a-z-]+)*)/g)].map(([, name = '']) => name)
  const unknown = PAGES.flatMap((page) =>
    [...read(page).matchAll(/\bnpm run ([a-z]+(?::[a-z-]+)*)/g)].flatMap(([, name = '']) =>
      name in scripts ? [] : [`${page}: ${name}`],
    ),
  )
  assert.deepEqual(unknown, [])
  assert.deepEqual(
    Object.keys(scripts).filter((name) => !shown('CONTRIBUTING.md').includes(name)),
    [],
  )
})

test('docs/reference/guarantees.md and the audit give the invariants the same words', () => {
  const audit = [...read('src/store/audit/audit-store.ts').matchAll(/id: '(I\d+)',\s+name: (['"])(.*?)\2,/g)]
  const page = [...read('docs/reference/guarantees.md').matchAll(/^\| (I\d+) \| (.*) \|$/gm)]
  const named = (rows: readonly (readonly (string | undefined)[])[]): readonly string[] =>
    rows.map(([id = '', name = '']) => `${id} ${name}`).toSorted()
  assert.ok(page.length >= 22)
  assert.deepEqual(
    named(audit.map(([, id, , name]) => [id, name] as const)),
    named(page.map(([, id, name]) => [id, name] as const)),
  )
})

test('every folder of src stands in docs/architecture.md', () => {
  const page = read('docs/architecture.md')
  const folders = new Set(globSync('src/*/**/*.ts', { cwd: ROOT }).map((path) => path.split('/')[1] ?? ''))
  assert.deepEqual(
    [...folders].filter((folder) => !page.includes(`\`${folder}\``)),
    [],
  )
})

test('docs/architecture.md lists the files of a streamed chat: as many as it says, each once and there', () => {
  const [, list = ''] = read('docs/architecture.md').split(/^### The files of a streamed chat, in order$/m)
  const [, said] = /\bthese (\d+) hold its order\b/.exec(list) ?? []
  const files = [...(list.split('\n## ')[0] ?? '').matchAll(/^\| `(src\/[\w./-]+\.ts)` \| .+\. \|$/gm)].map(
    ([, path = '']) => path,
  )
  assert.equal(new Set(files).size, Number(said))
  assert.deepEqual(
    files.filter((path) => !existsSync(join(ROOT, path))),
    [],
  )
})

test('docs/reference/operator.md shows every live setting with its default', () => {
  const page = read('docs/reference/operator.md')
  const missing = SETTING_ROWS.flatMap(([name, row]) => {
    const shown = 'fields' in row ? mapText(row.fields) : row.fallback === null ? '' : String(row.fallback)
    return page.includes(`\n${name}: ${shown}`) ? [] : [`${name}: ${shown}`]
  })
  assert.deepEqual(missing, [])
})

/** As the page writes a map of YAML. */
function mapText(fields: NumberFields | TextFields): string {
  return `{ ${Object.entries(fields)
    .map(([name, { fallback }]) => `${name}: ${fallback === '' ? '""' : fallback}`)
    .join(', ')} }`
}

test('docs/settings.md has the tables of src/tables/environment-table.ts: `npm run docs` writes them', () => {
  const page = read('docs/settings.md')
  assert.equal(page, withSettingTables(page))
  for (const name of Object.keys(VARIABLES)) assert.ok(page.includes(`\n| \`${name}\` | `), name)
})

test('docs/clients says the versions of the clients that test/clients/run.ts installs', () => {
  const page = read('docs/clients/README.md')
  const installed = [...read('test/clients/run.ts').matchAll(/'[@\w/-]+?(?:@|==)(\d[\d.]*)'/g)].map(
    ([, version]) => version ?? '',
  )
  assert.ok(installed.length >= 13, String(installed.length))
  assert.deepEqual(
    installed.filter((version) => !page.includes(version)),
    ['1.4.0', '6.0.326', '4.6.7', '1.7.3', '1.7.7'],
    'packages beside those that the page names: of LangChain, of the Vercel AI SDK, and zod',
  )
})

/** What a translation may not change: the levels of headings, rows of tables, blocks of code, and what is in backticks. */
function shapeOf(path: string): unknown {
  const page = read(path)
  const prose = page.replaceAll(/^```.*?^```/gms, '')
  return {
    headings: [...prose.matchAll(/^#+/gm)].map(([marks]) => marks.length),
    rows: prose.split('\n').filter((line) => line.startsWith('|')).length,
    items: prose.split('\n').filter((line) => /^(?:-|\d+\.) /.test(line)).length,
    blocks: [...page.matchAll(/^```.*?^```/gms)].map(([block]) => block),
    code: [...new Set([...prose.matchAll(/`[^`\n]+`/g)].map(([code]) => code))].toSorted(),
  }
}

test('a Russian page has the headings, tables, commands and names of its English twin, and each links the other', () => {
  for (const [russian, english] of [
    ['docs/ru/start.md', 'docs/start.md'],
    ['docs/ru/clients.md', 'docs/clients/README.md'],
    ['docs/ru/cabinet.md', 'docs/cabinet.md'],
    ['docs/ru/money.md', 'docs/money.md'],
    ['docs/ru/notifications.md', 'docs/notifications.md'],
  ] as const) {
    assert.deepEqual(shapeOf(russian), shapeOf(english), russian)
    assert.ok(read(russian).includes(`[In English](${relative('docs/ru', english)})`), russian)
    assert.ok(read(english).includes(`[По-русски](${relative(dirname(english), russian)})`), english)
  }
})

test('docs/operations.md names each alert with its metric, its threshold and what to do', () => {
  const { groups } = parse(read('deploy/prometheus/alerts.yaml')) as {
    readonly groups: readonly {
      readonly rules: readonly { readonly alert: string; readonly expr: string; readonly for?: string }[]
    }[]
  }
  const rows = read('docs/operations.md')
    .split('\n')
    .filter((line) => line.startsWith('| `Tollgate'))
  const expected = groups
    .flatMap(({ rules }) => rules)
    .map(({ alert, expr, for: during = 'at once' }) => {
      const condition = expr
        .trim()
        .replaceAll(/\s+/g, ' ')
        .replaceAll('|', String.raw`\|`)
      return `| \`${alert}\` | \`${condition}\` | ${during} | `
    })
  assert.deepEqual(
    rows.map((row) => row.slice(0, row.lastIndexOf(' | ') + 3)),
    expected,
  )
})

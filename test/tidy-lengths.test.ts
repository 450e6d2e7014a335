import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { withoutComments } from './harness/source-tree.ts'

const ROOT = join(import.meta.dirname, '..')
const LINES_MAX = 500
/** Files that are still longer, with their largest allowed length. */
const LONG_FILES: Readonly<Record<string, number>> = {}
const FUNCTION_LINES_MAX = 70
/** Functions that are one table: splitting them would divide rows, not branches. */
const TABLES: readonly string[] = [
  'src/store/audit/audit-store.ts queries',
  'src/store/audit/audit-store.ts historyQueries',
  // Columns of lists.
  'console/src/pages/models/ModelList.tsx ModelList',
  'console/src/pages/models/ModelPage.tsx Endpoints',
  'console/src/pages/operator/AccountKeys.tsx KeyList',
  'console/src/pages/operator/AccountsPage.tsx AccountList',
  'console/src/pages/operator/CodesPage.tsx CodeList',
  'console/src/pages/operator/MarginPage.tsx Groups',
  'console/src/pages/operator/ProvidersPage.tsx ProviderList',
  'console/src/pages/operator/UserList.tsx Rows',
  'console/src/pages/operator/customer-prices/AccountGroups.tsx Rows',
  'console/src/pages/operator/requests/RequestRows.tsx columnsOf',
  'console/src/pages/people/PeoplePage.tsx Members',
  'console/src/pages/usage/AppsPage.tsx AppList',
  'console/src/pages/usage/UsageReport.tsx UsageReport',
]
/** Functions that are still longer, with their largest allowed length. */
const LONG_FUNCTIONS: Readonly<Record<string, number>> = {}

interface Source {
  readonly path: string
  readonly text: string
}

const files: readonly Source[] = globSync(['{src,test,bench,scripts}/**/*.ts', 'console/src/**/*.{ts,tsx}'], {
  cwd: ROOT,
})
  .toSorted()
  .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))

test(`no file is longer than ${LINES_MAX} lines`, () => {
  const lengths = files.map(({ path, text }) => [path, text.split('\n').length - 1] as const)
  assert.deepEqual(beyond(lengths, LINES_MAX, LONG_FILES), [])
})

test(`no function of the product or the console is longer than ${FUNCTION_LINES_MAX} lines`, () => {
  const product = files.filter(({ path }) => /^(?:src|console)\//.test(path) && !path.endsWith('.test.ts'))
  const lengths = product.flatMap(functionLengths).filter(([name]) => !TABLES.includes(name))
  assert.deepEqual(beyond(lengths, FUNCTION_LINES_MAX, LONG_FUNCTIONS), [])
})

/** Entries longer than `max` that are not on the list, have grown, or no longer need the list. */
function beyond(
  lengths: readonly (readonly [name: string, lines: number])[],
  max: number,
  listed: Readonly<Record<string, number>>,
): string[] {
  const long = lengths.filter(([name, lines]) => lines > Math.max(max, listed[name] ?? 0))
  const needless = Object.keys(listed).filter(
    (name) => !lengths.some(([other, lines]) => other === name && lines > max),
  )
  return [
    ...long.map(([name, lines]) => `${name}: ${lines} lines`),
    ...needless.map((name) => `${name} has at most ${max} lines: take it off the list`),
  ]
}

/** The first line of a function: its whole head, or the first line of a longer head. */
const HEAD =
  /^( *)(?:export )?(?:async )?(?:(?:function\*? |(?:get |static |async )*)(#?\w+)(?:<.*>)?\(|const (\w+)(?:: .*)? = (?:async )?\()(?:.*\)(?:: .*)?(?: =>)? \{|.*[({]|)$/
const HEAD_END = /\)(?:: .*)?(?: =>)? \{$/
/** A line within a head at the indentation of its beginning. */
const HEAD_GOES_ON = /^ *[)}].*[({]$/
const NO_FUNCTIONS = ['if', 'for', 'while', 'switch', 'catch', 'return', 'await', 'super']

/** `path name` and number of lines of each function and method, in the formatter's layout. */
function functionLengths({ path, text }: Source): [name: string, lines: number][] {
  const lines = withoutComments(text).split('\n')
  return lines.flatMap((line, begin): [string, number][] => {
    const [, indent = '', called, assigned] = HEAD.exec(line) ?? []
    const name = called ?? assigned
    if (name === undefined || NO_FUNCTIONS.includes(name)) return []
    const closes = (after: number): number =>
      lines.findIndex((other, at) => at > after && other.startsWith(indent) && /^[)}]/.test(other.slice(indent.length)))
    let end = begin
    while (!HEAD_END.test(lines[end] ?? '')) {
      end = closes(end)
      if (!HEAD_GOES_ON.test(lines[end] ?? '')) return []
    }
    return [[`${path} ${name}`, closes(end) - begin + 1]]
  })
}

test('the rules above see what they are for', () => {
  for (const head of [
    ['function f(): void {'],
    ['  static async #f(a: string): Promise<void> {'],
    ['export async function f<A>(', '  a: A,', '): Promise<A> {'],
    ['function f({', '  a,', '}: A = {}): void {'],
    ['export function F({', '  a,', '}: {', '  a: string', '}) {'],
    ['const f = (): void => {'],
  ]) {
    const indent = /^ */.exec(head[0] ?? '')?.[0] ?? ''
    const text = [...head, ...Array.from({ length: 9 }, () => `${indent}  g()`), `${indent}}`, ''].join('\n')
    assert.deepEqual(
      functionLengths({ path: 'src/lib/x.ts', text }).map(([, lines]) => lines),
      [head.length + 10],
      text,
    )
  }
  assert.deepEqual(functionLengths({ path: 'x', text: 'f(\n  a,\n)\nif (\n  a\n) {\n}\ng({\n  a,\n})\n' }), [])
  const lengths = [
    ['a', 3],
    ['b', 1],
    ['c', 5],
  ] as const
  assert.deepEqual(beyond(lengths, 2, { b: 4, c: 5 }), ['a: 3 lines', 'b has at most 2 lines: take it off the list'])
  assert.deepEqual(beyond([['c', 6]], 2, { c: 5 }), ['c: 6 lines'])
})

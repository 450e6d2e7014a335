import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOMS, ROWS_MAX, taken } from './optional-rooms.ts'
import {
  codeOnly,
  reachableFrom,
  readSourceFile,
  readSourceTree,
  unitOf,
  withoutComments,
  type SourceFile,
} from './harness/source-tree.ts'

const ROOT = join(import.meta.dirname, '..')
/** Which folder of `src` may import which, types included, and of which only types, so that it never loads them. */
interface Allowed {
  readonly all: readonly string[]
  readonly typesOnly: readonly string[]
}

/** The table in docs/architecture.md is the architecture. Widening a row needs a decision in docs/decisions. */
const MAY_IMPORT = readAllowList(readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8'))

function readAllowList(page: string): ReadonlyMap<string, Allowed> {
  const rows = [...page.matchAll(/^\| `([\w-]+)` \| .* \| (.*) \|$/gm)].map(([, name = '', may = '']) => ({
    name,
    may,
  }))
  return new Map(
    rows.map(({ name, may }) => {
      const named = [...may.matchAll(/(types of )?`([\w-]+)`/g)].map(([, types, other = '']) => ({ types, other }))
      const all = named.map(({ other }) => other)
      return [name, { all, typesOnly: named.flatMap(({ types, other }) => (types === undefined ? [] : [other])) }]
    }),
  )
}

interface BannedText {
  readonly what: string
  readonly pattern: RegExp
  readonly why: string
  /** Files that may have it, each with the reason. */
  readonly except?: Readonly<Record<string, string>>
}

/** What no rule of the linter finds. */
const BANNED_TEXTS: readonly BannedText[] = [
  {
    what: 'TLS verification off',
    pattern: /rejectUnauthorized\s*:\s*false|NODE_TLS_REJECT_UNAUTHORIZED/,
    why: 'an upstream that cannot be verified is not the upstream',
  },
  {
    what: 'a spread or assign of parsed JSON',
    pattern: /(?:\.\.\.|Object\.assign\([^)]*)\s*JSON\.parse\(/,
    why: "a parsed body's keys are the sender's: objects are rebuilt field by field",
  },
  {
    what: 'a getter outside a class',
    pattern: /^ {4,}get [\w$]+\(\)/m,
    why: 'V8 gives each such object a shape of its own in the old space, and keeps all that the getter sees until it marks the heap',
    except: { 'src/app/app.ts': 'one object', 'src/app/stream-access.ts': 'for another node' },
  },
]

const SQL =
  /\b(?:SELECT\s[\s\S]{1,200}?\sFROM|INSERT\s+INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|CREATE\s+(?:TABLE|INDEX|TRIGGER)|ALTER\s+TABLE)\s/
/** A value put into SQL text by `+` instead of a parameter. */
const JOINED_SQL = /(?:WHERE|VALUES|SET|LIKE)\b[^'"`\n]*['"`]\s*\+/

const files = readSourceTree('src', 'test', 'bench')
const source = [...files.values()].filter(({ path }) => path.startsWith('src/'))
const product = source.filter(({ path }) => !path.endsWith('.test.ts'))

/** `path:line: what` of every match that no exception covers. */
function offences(ban: BannedText, among: readonly SourceFile[]): string[] {
  return among.flatMap(({ path, text }) => {
    if (ban.except?.[path] !== undefined) return []
    return codeOnly(text)
      .split('\n')
      .flatMap((line, index) => (ban.pattern.test(line) ? [`${path}:${index + 1}: ${ban.what}: ${ban.why}`] : []))
  })
}

function forbiddenImports(among: readonly SourceFile[]): string[] {
  return among.flatMap(({ path, imports }) => {
    const unit = unitOf(path)
    const allowed = MAY_IMPORT.get(unit)?.all
    if (allowed === undefined) return [`${path}: folder '${unit}' has no row in docs/architecture.md`]
    return imports
      .filter((other) => unitOf(other) !== unit && !allowed.includes(unitOf(other)))
      .map((other) => `${path} imports ${other}`)
  })
}

/** Tests beside the code, and their shared fixtures. */
const BESIDE_CODE = /(?:\.test|-fixture)\.ts$/

test('imports follow the architecture: each folder names only those below it', () => {
  assert.deepEqual(forbiddenImports(product.filter(({ path }) => !BESIDE_CODE.test(path))), [])
})

test('tests and fixtures beside the code may name what their folder may, and test/harness', () => {
  const beside = source
    .filter(({ path }) => BESIDE_CODE.test(path))
    .map((file) => ({ ...file, imports: file.imports.filter((other) => other.startsWith('src/')) }))
  assert.deepEqual(forbiddenImports(beside.filter(({ path }) => path.split('/').length > 2)), [])
})

test('each row of the architecture is a folder or file of src, and each word of it another row', () => {
  const units = new Set(product.map(({ path }) => unitOf(path)))
  assert.deepEqual(new Set(MAY_IMPORT.keys()), units)
  const names = [...MAY_IMPORT.values()].flatMap(({ all }) => all)
  assert.deepEqual(
    names.filter((name) => !units.has(name)),
    [],
  )
  assert.deepEqual(readAllowList('| `a` | x | – |\n| `b` | x | `a`, types of `c` |').get('b'), {
    all: ['a', 'c'],
    typesOnly: ['c'],
  })
})

test('the plan is pure, and what computes charges a second time shares nothing with the first', () => {
  const named = (part: string, free: RegExp): string[] =>
    product
      .filter(({ path }) => path.startsWith(part))
      .flatMap(({ path, imports }) =>
        imports.filter((other) => !free.test(other)).map((other) => `${path} imports ${other}`),
      )
  assert.deepEqual(named('src/pay/plan/', /^src\/(?:base|tables|kinds|catalog|pay\/plan)\//), [])
  assert.deepEqual(named('src/ledger/recheck.ts', /^$/), [])
})

test('a folder that may name only types of another loads nothing of it', () => {
  const loads = product.flatMap(({ path, runtimeImports }) =>
    runtimeImports
      .filter((other) => MAY_IMPORT.get(unitOf(path))?.typesOnly.includes(unitOf(other)))
      .map((other) => `${path} loads ${other}`),
  )
  assert.deepEqual(loads, [])
})

test('an optional room is named only where its rows are, and has at most three', () => {
  for (const each of ROOMS) {
    const { paths, rows } = taken(each)
    const isInside = (path: string): boolean => paths.some((part) => path === part || path.startsWith(`${part}/`))
    const named = product
      .filter(({ path, imports }) => !BESIDE_CODE.test(path) && !isInside(path) && imports.some(isInside))
      .map(({ path }) => path)
    assert.deepEqual(
      named.filter((path) => rows[path] === undefined),
      [],
      paths.join(),
    )
    assert.ok(Object.values(each.rows).flat().length <= ROWS_MAX, paths.join())
  }
})

/** A thread begins with a separate file, which the starting file names. */
const ENTRIES = [
  'src/main.ts',
  'src/nodes/loop-watch-thread.ts',
  'src/store/sqlite/snapshot-thread.ts',
  'src/store/sqlite/wal-thread.ts',
]

test('no dead file: all of src is reached from main.ts, except what only tests use', () => {
  const live = reachableFrom(ENTRIES, files)
  const tested = reachableFrom(
    [...files.keys()].filter((path) => path.endsWith('.test.ts')),
    files,
  )
  const isFixture = (path: string): boolean => path.endsWith('-fixture.ts') && tested.has(path)
  assert.deepEqual(
    product.map(({ path }) => path).filter((path) => !live.has(path) && !isFixture(path)),
    [],
  )
})

test('no product code imports a test, a fixture or the harness', () => {
  const wrong = product
    .filter(({ path }) => !path.endsWith('-fixture.ts'))
    .flatMap(({ path, imports }) =>
      imports
        .filter((other) => !other.startsWith('src/') || BESIDE_CODE.test(other))
        .map((other) => `${path} imports ${other}`),
    )
  assert.deepEqual(wrong, [])
})

/** An elapsed time compared with a number: on a machine with other work it needs `patient(ms)`, or CPU time. */
const WALL_BOUND = /(?:\bnow\(\) - \w+|\w*[tT]ookMs|\w*[sS]tallMs) <=? (?!patient\()/

test('no test has a bound on wall time that a busy machine breaks', () => {
  const bounds = [...files.values()]
    .filter(({ path }) => path.endsWith('.test.ts'))
    .flatMap(({ path, text }) =>
      text
        .split('\n')
        .flatMap((line, index) =>
          /assert|\bok\(/.test(line) && WALL_BOUND.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [],
        ),
    )
  assert.deepEqual(bounds, [])
})

for (const ban of BANNED_TEXTS) {
  test(`banned in src: ${ban.what}, since ${ban.why}`, () => {
    assert.deepEqual(offences(ban, product), [])
    for (const path of Object.keys(ban.except ?? {}))
      assert.ok(ban.pattern.test(files.get(path)?.text ?? ''), `${path} no longer needs its exception`)
  })
}

/**
 * Files of the provider side of `src/protocols` that parse JSON themselves, each with the reason; all others use
 * `parseJson`, which checks the shape first.
 */
const PARSES: Readonly<Record<string, string>> = {
  'src/protocols/wire/raw-json.ts': 'the one place',
  'src/protocols/wire/text-form.ts': 'the inside of one text',
  'src/protocols/answers/tool-calls.ts': 'looks at the shape itself, and tells why it refuses',
  'src/protocols/answers/vectors.ts': 'one list of numbers',
  'src/protocols/videos/sandbox.ts': 'a ticket of its own',
}

test('what an upstream sent is parsed after its shape was looked at', () => {
  const parsers = product
    .filter(({ path }) => path.startsWith('src/protocols/') && !path.includes('/client/'))
    .filter(({ text }) => /\bJSON\.parse\(|\.json\(\)/.test(codeOnly(text)))
    .map(({ path }) => path)
  assert.deepEqual(parsers.toSorted(), Object.keys(PARSES).toSorted())
})

/** Numbered rows, blocks of rows, one failure of a few, or what an account keeps: each bounds what it skips. */
const SKIPPING = ['log/log-store.ts', 'log/query.ts', 'page.ts', 'people/sign-in-store.ts', 'refusals/refusal-store.ts']

test('only code that bounds the rows it skips skips rows: a database reads all that it skips', () => {
  const skips = product.filter(({ path, text }) => path.startsWith('src/store/') && /\bOFFSET\b/.test(text))
  assert.deepEqual(
    skips.map(({ path }) => path.slice('src/store/'.length)),
    SKIPPING,
  )
})

test('only the store has SQL, and no value is joined into its text', () => {
  const outside = product
    .filter(({ path, text }) => unitOf(path) !== 'store' && SQL.test(withoutComments(text)))
    .map(({ path }) => path)
  assert.deepEqual(outside, [])
  const joined = product.filter(({ text }) => JOINED_SQL.test(withoutComments(text))).map(({ path }) => path)
  assert.deepEqual(joined, [])
  assert.deepEqual(product.filter(({ path }) => unitOf(path) === 'store').flatMap(strangeSqlParts), [])
})

/**
 * Constants, and text that the store itself builds from constants: conditions, lists of columns, words of a dialect. A
 * value needs a placeholder.
 */
const SQL_PART =
  /^(?:[A-Z][A-Z0-9_]*(?:\[rule\.of\])?|[A-Z][A-Z_]*\.(?:list|from|join\(', '\))|sealedSelect\((?:'\w+'|table)\)|(?:columns|names|place|namesOf\(columns\))\.join\(', '\)|columns\.map\(\(\) => '\?'\)\.join\(','\)|sides\.join\(' UNION ALL '\)|where|rest|order|sets\.join\(', '\)|parts\.join\(' AND '\)|sums(?:\.join\(', '\))?|lock|before|hint|scan|condition|column|columns|names|select|kind|by|period|start|app|into|table|first|beyond|marks|verb|refusal|blob|serial|clustered|query\.text|text|verb\.toLowerCase\(\)|conflict|conditionsText\((?:led|rest)\)|(?:table|insert|field|numberedSelect)\([^)]*\)|sqlite \? '[^']*' : ''|this\.#database\.dialect === 'postgres' \? '[^']*' : '')$/
const SQL_WORD = /\b(?:SELECT|INSERT|UPDATE|DELETE|WHERE|FROM|JOIN|VALUES|ORDER BY|CREATE|ALTER)\b/

/** Parts of a template literal with SQL that no rule allows. */
function strangeSqlParts({ path, text }: SourceFile): string[] {
  const literals = [...withoutComments(text).matchAll(/`(?:[^`\\]|\\.)*`/g)]
    .map(([literal]) => literal)
    .filter((literal) => SQL_WORD.test(literal))
  return literals
    .flatMap((literal) => [...literal.matchAll(/\$\{([^{}]*)\}/g)].map(([, part = '']) => part))
    .filter((part) => !SQL_PART.test(part.trim()))
    .map((part) => `${path}: ${part}`)
}

test('the rules above see what they are for', () => {
  const seen = (text: string): string[] =>
    BANNED_TEXTS.flatMap((ban) => offences(ban, [readSourceFile('src/base/x.ts', text)]))
  for (const text of [
    'const o = { rejectUnauthorized: false }',
    'const o = { ...JSON.parse(body) }',
    'const o = {\n    get query() { return 1 },\n}',
  ]) {
    assert.equal(seen(text).length, 1, text)
  }
  assert.deepEqual(seen('class A {\n  get query() { return 1 }\n}'), [])
  assert.deepEqual(
    forbiddenImports([readSourceFile('src/protocols/x.ts', "import type { A } from '../ledger/ledger.ts'\n")]),
    ['src/protocols/x.ts imports src/ledger/ledger.ts'],
  )
  assert.deepEqual(
    forbiddenImports([readSourceFile('src/kinds/x.ts', "import {\n  a,\n} from '../store/store.ts'\n")]),
    ['src/kinds/x.ts imports src/store/store.ts'],
  )
  assert.ok(SQL.test('`SELECT a FROM b `'))
  assert.deepEqual(
    strangeSqlParts(
      readSourceFile('src/store/x.ts', 'const a = `SELECT a FROM b WHERE c = ${name} AND ${WHERE} AND ${where}`'),
    ),
    ['src/store/x.ts: name'],
  )
})

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  codeOnly,
  cyclesOf,
  findCycle,
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
  const base = rows.slice(0, rows.findIndex(({ name }) => name === 'wire-route') + 1).map(({ name }) => name)
  return new Map(
    rows.map(({ name, may }) => {
      const named = [...may.matchAll(/(types of )?`([\w-]+)`/g)].map(([, types, other = '']) => ({ types, other }))
      const all = [...(/\bbase\b/.test(may) ? base : []), ...named.map(({ other }) => other)]
      return [name, { all, typesOnly: named.flatMap(({ types, other }) => (types === undefined ? [] : [other])) }]
    }),
  )
}

interface BannedCall {
  readonly what: string
  readonly pattern: RegExp
  readonly why: string
  /** Files that may do it, each with the reason. */
  readonly except?: Readonly<Record<string, string>>
}

const BANNED_CALLS: readonly BannedCall[] = [
  { what: 'eval', pattern: /(?<![\w.])eval\s*\(/, why: 'no text is ever run as code' },
  { what: 'new Function', pattern: /\bnew\s+Function\b/, why: 'no text is ever run as code' },
  {
    what: 'a function made from text',
    pattern: /(?<![\w.]|new\s)(?:Function|AsyncFunction|GeneratorFunction)\s*\(/,
    why: 'no text is ever run as code',
  },
  {
    what: 'a module named by a value',
    pattern: /\bimport\s*\(\s*[\w$`]|\bcreateRequire\b|(?<![\w.])require\s*\(/,
    why: 'what is loaded is written down',
    except: {
      'src/providers/ai-sdk/sdk-packages.ts': 'a package that the catalogue names, of one namespace',
    },
  },
  {
    what: 'global fetch',
    pattern: /(?<![\w.#])fetch\s*\(/,
    why: "it inflates, follows redirects and costs several times the CPU of undici's dispatcher",
    except: { 'src/endpoints/start-page-text.ts': 'the script of a page, run by the browser' },
  },
  {
    what: "undici's own request",
    pattern: /import \{[^}]*\brequest\b[^}]*\} from 'undici'/,
    why: 'its own connections would speak HTTP/2 where the other side does, which nothing here was tried with',
    except: { 'src/lib/http-request.ts': 'the one place, which turns it off' },
  },
  {
    what: 'Math.random',
    pattern: /\bMath\.random\b/,
    why: 'its numbers can be guessed: ids come from lib/ids.ts',
    except: { 'src/plan/token-count.ts': 'picks which texts are measured again; nobody gains by guessing it' },
  },
  {
    what: 'parseFloat',
    pattern: /\bparseFloat\s*\(/,
    why: 'a float never touches money: money.ts reads decimals exactly',
  },
  { what: 'console', pattern: /\bconsole\.\w+/, why: 'main gives the log; nothing else prints' },
  {
    what: 'TLS verification off',
    pattern: /rejectUnauthorized\s*:\s*false|NODE_TLS_REJECT_UNAUTHORIZED/,
    why: 'an upstream that cannot be verified is not the upstream',
  },
  {
    what: 'a reset of a socket',
    pattern: /\bresetAndDestroy\b/,
    why: 'Node leaves a socket open for good that is reset while its FIN is on its way',
    except: { 'src/http/break-connection.ts': 'the one place, which looks first' },
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
    except: { 'src/app.ts': 'one object', 'src/app/stream-access.ts': 'for another node' },
  },
  {
    what: 'a time written by hand',
    pattern: /toISOString\(|^const (?:MINUTE|HOUR|DAY)_MS =/m,
    why: 'how a time or a day is written stands in one place',
    except: { 'src/lib/time.ts': 'the place' },
  },
]

const BANNED_MODULES: Readonly<Record<string, string>> = {
  'node:vm': 'no text is ever run as code',
  vm: 'no text is ever run as code',
  'node:child_process': 'the server starts no commands',
  child_process: 'the server starts no commands',
  'node:inspector': 'nobody looks into the process from outside',
  'node:repl': 'no text is ever run as code',
  'node:v8': 'a heap snapshot would hold prompts and keys',
  'node:https': 'requests go through undici, with its limits',
}

const SQL =
  /\b(?:SELECT\s[\s\S]{1,200}?\sFROM|INSERT\s+INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|CREATE\s+(?:TABLE|INDEX|TRIGGER)|ALTER\s+TABLE)\s/
/** A value put into SQL text by `+` instead of a parameter. */
const JOINED_SQL = /(?:WHERE|VALUES|SET|LIKE)\b[^'"`\n]*['"`]\s*\+/

const files = readSourceTree('src', 'test', 'bench')
const source = [...files.values()].filter(({ path }) => path.startsWith('src/'))
const product = source.filter(({ path }) => !path.endsWith('.test.ts'))

/** `path:line: what` of every match that no exception covers. */
function offences(ban: BannedCall, among: readonly SourceFile[]): string[] {
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
  assert.deepEqual(
    readAllowList('| `a` | x | – |\n| `wire-route` | x | `a` |\n| `b` | x | base, types of `c` |').get('b'),
    {
      all: ['a', 'wire-route', 'c'],
      typesOnly: ['c'],
    },
  )
})

test('a folder that may name only types of another loads nothing of it', () => {
  const loads = product.flatMap(({ path, runtimeImports }) =>
    runtimeImports
      .filter((other) => MAY_IMPORT.get(unitOf(path))?.typesOnly.includes(unitOf(other)))
      .map((other) => `${path} loads ${other}`),
  )
  assert.deepEqual(loads, [])
})

test('every import names a file that exists, with its extension', () => {
  const missing = [...files.values()].flatMap(({ path, imports }) =>
    imports.filter((other) => other.startsWith('src/') && !files.has(other)).map((other) => `${path} imports ${other}`),
  )
  assert.deepEqual(missing, [])
})

test('no file imports itself through others at run time', () => {
  const edges = new Map([...files.values()].map(({ path, runtimeImports }) => [path, runtimeImports]))
  assert.equal(findCycle(edges)?.join(' → ') ?? null, null)
})

test('no file names itself through others, types included', () => {
  const cycles = cyclesOf(new Map(product.map(({ path, imports }) => [path, imports])))
  assert.deepEqual(cycles, [])
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

/** Long forms whose guarantee needs no short form, each with the reason. */
const LONG_ALONE: Readonly<Record<string, string>> = {}

test('a long form has a short one beside it, which each change must pass', () => {
  const long = [...files.keys()].filter((path) => path.endsWith('.long.test.ts'))
  assert.deepEqual(
    long.filter((path) => LONG_ALONE[path] === undefined && !files.has(path.replace('.long.', '.'))),
    [],
  )
  assert.deepEqual(
    Object.keys(LONG_ALONE).filter((path) => !long.includes(path)),
    [],
  )
})

/** The watch's thread ends the process when main.ts cannot. */
const TOUCH_PROCESS = ['src/main.ts', 'src/nodes/loop-watch-thread.ts']

test('only main.ts touches the process', () => {
  const ban = {
    what: 'process',
    pattern: /(?<![\w.'#])process\.[a-z]/,
    why: 'settings and signals are given by main.ts',
  }
  assert.deepEqual(
    offences(
      ban,
      product.filter(({ path }) => !TOUCH_PROCESS.includes(path)),
    ),
    [],
  )
})

for (const ban of BANNED_CALLS) {
  test(`banned in src: ${ban.what}, since ${ban.why}`, () => {
    assert.deepEqual(offences(ban, product), [])
    for (const path of Object.keys(ban.except ?? {}))
      assert.ok(ban.pattern.test(files.get(path)?.text ?? ''), `${path} no longer needs its exception`)
  })
}

/**
 * Files of `src/providers` that parse JSON themselves, each with the reason; all others use `parseJson`, which checks
 * the shape first.
 */
const PARSES: Readonly<Record<string, string>> = {
  'src/providers/wire/raw-json.ts': 'the one place',
  'src/providers/wire/text-form.ts': 'the inside of one text',
  'src/providers/answers/tool-input.ts': 'looks at the shape itself, and tells why it refuses',
  'src/providers/answers/vector-text.ts': 'one list of numbers',
  'src/providers/sandbox/videos.ts': 'a ticket of its own',
}

test('what an upstream sent is parsed after its shape was looked at', () => {
  const parsers = product
    .filter(({ path, text }) => path.startsWith('src/providers/') && /\bJSON\.parse\(|\.json\(\)/.test(codeOnly(text)))
    .map(({ path }) => path)
  assert.deepEqual(parsers.toSorted(), Object.keys(PARSES).toSorted())
})

test('banned modules are not loaded', () => {
  assert.deepEqual(
    product.flatMap(({ path, packages }) =>
      packages
        .filter((name) => BANNED_MODULES[name] !== undefined)
        .map((name) => `${path}: ${name}: ${BANNED_MODULES[name]}`),
    ),
    [],
  )
})

/** A record of the store and of the wire may share a name; more meanings of one word mislead. */
const TYPE_NAME_FILES_MAX = 2

/** Names of types that too many files declare, each with the files. */
function ambiguousTypes(among: readonly SourceFile[]): string[] {
  const declared = among.flatMap(({ path, text }) =>
    [...codeOnly(text).matchAll(/^(?:export )?(?:type|interface) (\w+)\b(?=[ <])/gm)].map(([, name = '']) => ({
      name,
      path,
    })),
  )
  const files = Map.groupBy(declared, ({ name }) => name)
  return [...files].flatMap(([name, places]) =>
    places.length > TYPE_NAME_FILES_MAX ? [`${name}: ${places.map(({ path }) => path).join(', ')}`] : [],
  )
}

test(`a type's name is declared in at most ${TYPE_NAME_FILES_MAX} files`, () => {
  const like = (path: string, text: string): SourceFile => ({ ...(product[0] ?? assert.fail()), path, text })
  const part = ['type Part = string', 'export interface Part<T> {', 'interface Part {'].map((text, index) =>
    like(`${index}.ts`, text),
  )
  assert.deepEqual(ambiguousTypes(part), ['Part: 0.ts, 1.ts, 2.ts'])
  assert.deepEqual(ambiguousTypes(part.slice(1)), [])
  assert.deepEqual(ambiguousTypes(product), [])
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
  /^(?:[A-Z][A-Z0-9_]*(?:\[rule\.of\])?|[A-Z][A-Z_]*\.join\(', '\)|sealedSelect\((?:'\w+'|table)\)|(?:columns|names|place)\.join\(', '\)|columns\.map\(\(\) => '\?'\)\.join\(','\)|sides\.join\(' UNION ALL '\)|where|order|sets\.join\(', '\)|parts\.join\(' AND '\)|sums(?:\.join\(', '\))?|lock|before|hint|scan|condition|column|columns|names|select|kind|period|start|app|into|table|first|beyond|marks|verb|refusal|blob|serial|clustered|query\.text|text|verb\.toLowerCase\(\)|conditionsText\((?:led|rest)\)|(?:table|insert|field)\([^)]*\)|sqlite \? '[^']*' : ''|this\.#database\.dialect === 'postgres' \? '[^']*' : '')$/
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
  const edges = { a: ['b'], b: ['c'], c: ['b', 'e'], d: ['a'], e: [] }
  assert.deepEqual(cyclesOf(new Map(Object.entries(edges))), ['b c'])
  const seen = (text: string): string[] =>
    BANNED_CALLS.flatMap((ban) => offences(ban, [readSourceFile('src/lib/x.ts', text)]))
  for (const text of [
    'eval(text)',
    'new Function (a)',
    'Function(a)',
    'import(name)',
    'createRequire(here)',
    'await fetch(url)',
    'Math.random()',
    'parseFloat(a)',
    'console.log(a)',
    'const o = { rejectUnauthorized: false }',
    'const o = { ...JSON.parse(body) }',
    'const o = {\n    get query() { return 1 },\n}',
  ]) {
    assert.equal(seen(text).length, 1, text)
  }
  assert.deepEqual(seen('class A {\n  get query() { return 1 }\n}'), [])
  assert.deepEqual(seen("// eval(x)\nconst said = 'fetch(x)' /* console.log */\nthis.#fetch(x)\n"), [])
  assert.deepEqual(
    forbiddenImports([readSourceFile('src/providers/x.ts', "import type { A } from '../ledger/ledger.ts'\n")]),
    ['src/providers/x.ts imports src/ledger/ledger.ts'],
  )
  assert.deepEqual(
    forbiddenImports([readSourceFile('src/relay/x.ts', "import {\n  a,\n} from '../store/store.ts'\n")]),
    ['src/relay/x.ts imports src/store/store.ts'],
  )
  assert.deepEqual(
    findCycle(
      new Map([
        ['a', ['b']],
        ['b', ['c']],
        ['c', ['b']],
      ]),
    ),
    ['b', 'c', 'b'],
  )
  assert.ok(SQL.test('`SELECT a FROM b `'))
  assert.deepEqual(
    strangeSqlParts(
      readSourceFile('src/store/x.ts', 'const a = `SELECT a FROM b WHERE c = ${name} AND ${WHERE} AND ${where}`'),
    ),
    ['src/store/x.ts: name'],
  )
})

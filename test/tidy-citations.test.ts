import assert from 'node:assert/strict'
import { globSync, readFileSync, existsSync } from 'node:fs'
import { join, basename, dirname, normalize } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '..')
/** The pages with numbered places. */
const REFERENCE = ['docs/reference/*.md', 'docs/reliability.md']

/** The places of a page that can be cited. */
interface Page {
  /** Numbers of its sections: `7`, `7.3`. */
  readonly sections: ReadonlySet<string>
  /** `D-7.8`, `F47`, `C2`, `rule 8`, `requirement 13`, `POST /v1/rerank`. */
  readonly names: ReadonlySet<string>
}

interface Reference {
  readonly pages: ReadonlyMap<string, Page>
  /** Whether a file of the project has this path. */
  readonly exists: (path: string) => boolean
  /** Whether the page at this path has a heading of this name. */
  readonly hasHeading: (path: string, name: string) => boolean
}

const SECTION = /^#+ (\d+(?:\.\d+)*)\.? /gm
const NUMBERED = /^#+ (D-\d+\.\d+[a-z]?) /gm
const ROUTE = /^### ([A-Z]+ \/\S+)$/gm
const ROW = /^\| ([CFIRS]\d+) \|/gm
/** A table whose first column's head is the word that cites its rows. */
const TABLE = /^\| (Rule|Requirement) \|.*\n\|[-| ]+\|\n((?:\|.*\n)+)/gm

function readReference(): Reference {
  const paths = globSync(REFERENCE, { cwd: ROOT })
  const pages = new Map(paths.map((path) => [basename(path), readPage(readFileSync(join(ROOT, path), 'utf8'))]))
  const exists = (path: string): boolean => existsSync(join(ROOT, path))
  const headings = (path: string): readonly string[] =>
    exists(path) ? [...readFileSync(join(ROOT, path), 'utf8').matchAll(HEADING)].map(([, name = '']) => name) : []
  return { pages, exists, hasHeading: (path, name) => headings(path).includes(name) }
}

function readPage(text: string): Page {
  const first = (pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, name = '']) => name)
  const ofTables = [...text.matchAll(TABLE)].flatMap(([, word = '', rows = '']) =>
    [...rows.matchAll(/^\| (\d+) \|/gm)].map(([, number = '']) => `${word.toLowerCase()} ${number}`),
  )
  return {
    sections: new Set(first(SECTION)),
    names: new Set([...first(NUMBERED), ...first(ROUTE), ...first(ROW), ...ofTables]),
  }
}

const DOCUMENT = /(?<![\w./}-])((?:\.\.?\/)*(?:[\w-]+\/)*[A-Za-z][\w-]*\.md)\b`?(?:#\S*)?/g
/** A place in a document: one name, or a list of sections. */
const PLACE =
  /^ (?:(D-\d+\.\d+[a-z]?\b|[CFIRS]\d{1,2}\b|[A-Z]+ \/v1\/[\w{}/]+)|(\d+(?:\.\d+)*(?:(?:, | and )\d+(?:\.\d+)*(?![\w]))*))/
/** A heading by its name, as in `docs/money.md, "Proof"`. */
const QUOTED = /(docs\/[\w/-]+\.md), "([^"]+)"/g
const HEADING = /^#+ (.+)$/gm
const DECISION = /\bD-\d+\.\d+[a-z]?\b/g
const ROW_NAME = /(?<![\w#&'"%./$-])[FIRS]\d{1,2}(?!\w)/g
const LISTED = /\b([Rr]ule|[Rr]equirement)s? (\d+(?:(?:, | and | to )\d+)*)(?![\w.])/g
const SECTION_NAME = /\bsections? (\d+(?:\.\d+)*)(?: of `?([\w-]+\.md))?/g
/** The line break within a comment. */
const COMMENT_BREAK = /\n\s*(?:\*|\/\/) /g
/** Links of a page are checked elsewhere. */
const LINK_TARGET = /\]\([^)]*\)/g

/** Every citation of a text that leads nowhere, as written there. */
function deadCitations(path: string, text: string, reference: Reference): readonly string[] {
  const read = path.endsWith('.md') ? text.replaceAll(LINK_TARGET, ']') : text.replaceAll(COMMENT_BREAK, ' ')
  return [
    ...deadDocuments(path, read, reference),
    ...[...read.matchAll(QUOTED)].flatMap(([whole, page = '', name = '']) =>
      reference.hasHeading(page, name) ? [] : [whole],
    ),
    ...found(read, DECISION).filter((name) => !isNamed(reference, name)),
    ...found(read, ROW_NAME).filter((name) => !isNamed(reference, name)),
    ...[...read.matchAll(LISTED)].flatMap(([whole, word = '', list = '']) =>
      numbersOf(list).every((number) => isNamed(reference, `${word.toLowerCase()} ${number}`)) ? [] : [whole],
    ),
    ...[...read.matchAll(SECTION_NAME)].flatMap(([whole, number = '', page = basename(path)]) =>
      reference.pages.get(page)?.sections.has(number) === true ? [] : [whole],
    ),
  ]
}

function found(text: string, pattern: RegExp): readonly string[] {
  return [...text.matchAll(pattern)].map(([whole]) => whole)
}

function isNamed({ pages }: Reference, name: string): boolean {
  return [...pages.values()].some(({ names }) => names.has(name))
}

/** `2, 7 and 8`, or `9 to 11`. */
function numbersOf(list: string): readonly string[] {
  return list.split(/, | and | to /)
}

/** Documents that do not exist, and places that they do not have. */
function deadDocuments(path: string, text: string, { pages, exists }: Reference): readonly string[] {
  return [...text.matchAll(DOCUMENT)].flatMap((match) => {
    const [whole, name = ''] = match
    const page = pages.get(basename(name))
    const isReference = name === basename(name) && page !== undefined
    const places = [join(dirname(path), name), normalize(name), ...(path.endsWith('.md') ? [join('docs', name)] : [])]
    if (!isReference && !places.some((place) => exists(place))) return [whole]
    const place = PLACE.exec(text.slice(match.index + whole.length))
    if (place === null || page === undefined) return []
    const [said, named, sections = ''] = place
    const known =
      named === undefined
        ? sections.split(/, | and /).every((section) => page.sections.has(section))
        : page.names.has(named)
    return known ? [] : [`${whole}${said}`]
  })
}

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
  const reference: Reference = {
    pages,
    exists: (path) => path === 'docs/errors.md',
    hasHeading: (path, name) => path === 'docs/errors.md' && name === 'One',
  }
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
    'docs/errors.md, "One"',
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
    ['docs/errors.md, "Two"', 'docs/errors.md, "Two"'],
    ['section 1', 'section 1'],
  ] as const) {
    assert.ok(dead(text).includes(citation), `${text}: ${dead(text).join()}`)
  }
  assert.deepEqual(
    deadCitations('docs/reference/wire.md', 'section 1.2, section 4 of guarantees.md, [x](none.md)', reference),
    [],
  )
})

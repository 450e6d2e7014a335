import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
const REFERENCE = 'docs/reference'

/** The places of a page that can be cited. */
interface Page {
  /** Numbers of its sections: `7`, `7.3`. */
  readonly sections: ReadonlySet<string>
  /** `D-7.8`, `F47`, `C2`, `rule 8`, `requirement 13`, `POST /v1/rerank`. */
  readonly names: ReadonlySet<string>
}

export interface Reference {
  readonly pages: ReadonlyMap<string, Page>
  /** Whether a file of the project has this path. */
  readonly exists: (path: string) => boolean
}

const SECTION = /^#+ (\d+(?:\.\d+)*)\.? /gm
const NUMBERED = /^#+ (D-\d+\.\d+[a-z]?) /gm
const ROUTE = /^### ([A-Z]+ \/\S+)$/gm
const ROW = /^\| ([CFIRS]\d+) \|/gm
/** A table whose first column's head is the word that cites its rows. */
const TABLE = /^\| (Rule|Requirement) \|.*\n\|[-| ]+\|\n((?:\|.*\n)+)/gm

export function readReference(): Reference {
  const paths = globSync(`${REFERENCE}/*.md`, { cwd: ROOT })
  const pages = new Map(paths.map((path) => [basename(path), readPage(readFileSync(join(ROOT, path), 'utf8'))]))
  return { pages, exists: (path) => existsSync(join(ROOT, path)) }
}

export function readPage(text: string): Page {
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
const DECISION = /\bD-\d+\.\d+[a-z]?\b/g
const ROW_NAME = /(?<![\w#&'"%./$-])[FIRS]\d{1,2}(?!\w)/g
const LISTED = /\b([Rr]ule|[Rr]equirement)s? (\d+(?:(?:, | and | to )\d+)*)(?![\w.])/g
const SECTION_NAME = /\bsections? (\d+(?:\.\d+)*)(?: of `?([\w-]+\.md))?/g
/** The line break within a comment. */
const COMMENT_BREAK = /\n\s*(?:\*|\/\/) /g
/** Links of a page are checked elsewhere. */
const LINK_TARGET = /\]\([^)]*\)/g

/** Every citation of a text that leads nowhere, as written there. */
export function deadCitations(path: string, text: string, reference: Reference): readonly string[] {
  const read = path.endsWith('.md') ? text.replaceAll(LINK_TARGET, ']') : text.replaceAll(COMMENT_BREAK, ' ')
  return [
    ...deadDocuments(path, read, reference),
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

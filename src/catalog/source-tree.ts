import {
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type Document,
  type Scalar,
  type YAMLMap,
} from 'yaml'
import { ownValue } from '../base/own-value.ts'
import { faultOf, type FieldCheck, type FieldChecks, type SaidOf } from '../base/refusals.ts'

/** A problem of a text before it becomes a document: its syntax, size or a variable. Only files have such problems. */
export interface FileProblem {
  /** 0 for a document that came as JSON through the API. */
  readonly line: number
  readonly path: string
  readonly message: string
  /** The document is accepted, but one of its endpoints cannot be routed to. */
  readonly unroutable?: boolean
}

/**
 * A problem of a field: an English sentence, and the name of the check with its figures for pages in another language.
 */
export interface Fault {
  readonly path: string
  readonly message: string
  readonly check: FieldCheck
  readonly params: FieldChecks[FieldCheck]
}

export interface Problem extends FileProblem, Fault {}

export function fault<C extends FieldCheck>(path: string, check: C, ...said: SaidOf<C>): Fault {
  return { path, ...faultOf(check, ...said) }
}

/**
 * A value of the catalogue document with its position. Numbers keep their source text: a price never passes through a
 * float.
 */
export type SourceNode =
  | { readonly kind: 'map'; readonly line: number; readonly entries: ReadonlyMap<string, SourceNode> }
  | { readonly kind: 'list'; readonly line: number; readonly items: readonly SourceNode[] }
  | { readonly kind: 'text' | 'number'; readonly line: number; readonly text: string }
  | { readonly kind: 'boolean'; readonly line: number; readonly value: boolean }
  | { readonly kind: 'null'; readonly line: number }

const DEPTH_MAX = 32
/** The most nodes of a document. Aliases multiply a small text, so without a limit it could fill the memory. */
const NODES_MAX = 500_000
const TEXT_CHARS_MAX = 16 * 1_048_576
const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g
/** Encloses the name of `${NAME}` while the text is parsed: YAML would read its braces inside `{…}` or `[…]`. */
const MARKED = /\u{E000}([A-Za-z0-9_]+)\u{E001}/gu
const NUMBER = /^[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?$/

type Env = Readonly<Record<string, string | undefined>>

/** Reads YAML, and so JSON too. `${NAME}` is filled in from `env` after the parse, so no value is read as YAML. */
export function readSource(text: string, env: Env, problems: FileProblem[]): SourceNode {
  const empty: SourceNode = { kind: 'map', line: 1, entries: new Map() }
  if (text.length > TEXT_CHARS_MAX) {
    problems.push({ line: 1, path: '', message: `is longer than ${TEXT_CHARS_MAX} characters` })
    return empty
  }
  const lines = new LineCounter()
  const document = parseDocument(text.replaceAll(VARIABLE, '\u{E000}$1\u{E001}'), {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: true,
  })
  for (const { pos, message } of document.errors)
    problems.push({ line: lines.linePos(pos[0]).line, path: '', message: unmarked(message.split('\n', 1)[0] ?? '') })
  if (document.errors.length > 0 || document.contents === null) return empty
  return new Conversion(document, lines, env, problems).convert(document.contents, '', 0)
}

class Conversion {
  readonly #document: Document
  readonly #lines: LineCounter
  readonly #env: Env
  readonly #problems: FileProblem[]
  #nodes = 0

  constructor(document: Document, lines: LineCounter, env: Env, problems: FileProblem[]) {
    this.#document = document
    this.#lines = lines
    this.#env = env
    this.#problems = problems
  }

  convert(value: unknown, path: string, depth: number): SourceNode {
    if (!isNode(value)) return { kind: 'null', line: 0 }
    const line = value.range === null || value.range === undefined ? 0 : this.#lines.linePos(value.range[0]).line
    const node = isAlias(value) ? value.resolve(this.#document) : value
    this.#nodes += 1
    if (depth > DEPTH_MAX || this.#nodes > NODES_MAX) {
      const message =
        depth > DEPTH_MAX
          ? `is nested deeper than ${DEPTH_MAX} levels`
          : `makes the document larger than ${NODES_MAX} values`
      // Reported once, since every later value is over the limit too.
      if (depth > DEPTH_MAX || this.#nodes === NODES_MAX + 1) this.#problems.push({ line, path, message })
      return { kind: 'null', line }
    }
    if (isMap(node)) return { kind: 'map', line, entries: this.#entries(node, path, depth) }
    if (isSeq(node))
      return {
        kind: 'list',
        line,
        items: node.items.map((item, index) => this.convert(item, `${path}[${index}]`, depth + 1)),
      }
    return isScalar(node) ? this.#scalar(node, line, path) : { kind: 'null', line }
  }

  #entries(map: YAMLMap, path: string, depth: number): ReadonlyMap<string, SourceNode> {
    const entries = new Map<string, SourceNode>()
    for (const { key, value } of map.items) {
      const name = this.#withoutNul(
        unmarked(isScalar(key) ? String(key.source ?? key.value) : String(key)),
        isNode(key) && key.range ? this.#lines.linePos(key.range[0]).line : 0,
        path,
      )
      const node = this.convert(value, path === '' ? name : `${path}.${name}`, depth + 1)
      // A key without a value has no position of its own.
      entries.set(
        name,
        node.line > 0 || !isNode(key) || key.range === null || key.range === undefined
          ? node
          : { ...node, line: this.#lines.linePos(key.range[0]).line },
      )
    }
    return entries
  }

  #scalar(node: Scalar, line: number, path: string): SourceNode {
    if (node.value === null) return { kind: 'null', line }
    if (typeof node.value === 'boolean') return { kind: 'boolean', line, value: node.value }
    if (typeof node.value === 'number') return { kind: 'number', line, text: node.source ?? String(node.value) }
    const text = String(node.value)
    const filled = this.#withoutNul(this.#filled(text, line, path), line, path)
    if (filled === text || node.type !== 'PLAIN') return { kind: 'text', line, text: filled }
    // An unquoted variable is read as its value would be read at its place.
    if (NUMBER.test(filled)) return { kind: 'number', line, text: filled }
    return filled === 'true' || filled === 'false'
      ? { kind: 'boolean', line, value: filled === 'true' }
      : { kind: 'text', line, text: filled }
  }

  /** Texts go into logs and into databases, and PostgreSQL cannot store NUL. */
  #withoutNul(text: string, line: number, path: string): string {
    if (!text.includes('\0')) return text
    this.#problems.push({ line, path, message: 'holds the character NUL (U+0000)' })
    return text.replaceAll('\0', '')
  }

  #filled(text: string, line: number, path: string): string {
    return text.replaceAll(MARKED, (_whole, name: string) => {
      const value = ownValue(this.#env, name)
      if (value === undefined || value === '')
        this.#problems.push({ line, path, message: `environment variable ${name} is not set` })
      return value ?? ''
    })
  }
}

function unmarked(text: string): string {
  return text.replaceAll(MARKED, (_whole, name: string) => `\${${name}}`)
}

/** The line of `path` in a tree, or of the nearest enclosing value. */
export function lineOf(source: SourceNode, path: string): number {
  let node = source
  for (const step of path.split(/[.[\]]+/).filter((part) => part !== '')) {
    const next =
      node.kind === 'map' ? node.entries.get(step) : node.kind === 'list' ? node.items[Number(step)] : undefined
    if (next === undefined) break
    node = next
  }
  return node.line
}

/** A document that came as JSON. */
export function sourceOfJson(value: unknown, depth = 0): SourceNode {
  if (value === null || value === undefined || depth > DEPTH_MAX) return { kind: 'null', line: 0 }
  if (typeof value === 'boolean') return { kind: 'boolean', line: 0, value }
  if (typeof value === 'number') return { kind: 'number', line: 0, text: String(value) }
  if (typeof value === 'string') return { kind: 'text', line: 0, text: value }
  if (Array.isArray(value)) return { kind: 'list', line: 0, items: value.map((item) => sourceOfJson(item, depth + 1)) }
  return {
    kind: 'map',
    line: 0,
    entries: new Map(Object.entries(value).map(([key, item]) => [key, sourceOfJson(item, depth + 1)])),
  }
}

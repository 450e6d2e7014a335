import { isMap, isScalar, isSeq, LineCounter, parseDocument, type Node } from 'yaml'

/** A value of the catalogue document with the place it stands at. Numbers keep their source text: a price never passes through a float. */
export type SourceNode =
  | { readonly kind: 'map'; readonly line: number; readonly entries: ReadonlyMap<string, SourceNode> }
  | { readonly kind: 'list'; readonly line: number; readonly items: readonly SourceNode[] }
  | { readonly kind: 'text' | 'number'; readonly line: number; readonly text: string }
  | { readonly kind: 'boolean'; readonly line: number; readonly value: boolean }
  | { readonly kind: 'null'; readonly line: number }

/** What is wrong, and where: `line` is 0 for a document that came as JSON through the API. */
export interface Problem {
  readonly line: number
  readonly path: string
  readonly message: string
  /** The document stands, but an endpoint of it cannot be routed to. */
  readonly unroutable?: boolean
}

const DEPTH_MAX = 32
const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g

/** Reads YAML (and so JSON) text; `env` fills in `${NAME}` in texts. */
export function readSource(text: string, env: Readonly<Record<string, string | undefined>>, problems: Problem[]): SourceNode {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true })
  for (const error of document.errors) problems.push({ line: error.linePos?.[0].line ?? 1, path: '', message: error.message.split('\n')[0] ?? 'not valid YAML' })
  if (document.errors.length > 0 || document.contents === null) return { kind: 'map', line: 1, entries: new Map() }
  // parseDocument's default contents type is a union of the node classes tested below.
  return convert(document.contents as Node, lines, env, problems, '', 0)
}

function convert(node: Node | null, lines: LineCounter, env: Readonly<Record<string, string | undefined>>, problems: Problem[], path: string, depth: number): SourceNode {
  const line = node?.range === null || node?.range === undefined ? 0 : lines.linePos(node.range[0]).line
  if (depth > DEPTH_MAX) {
    problems.push({ line, path, message: `nested deeper than ${DEPTH_MAX} levels` })
    return { kind: 'null', line }
  }
  if (isMap(node)) {
    const entries = new Map<string, SourceNode>()
    for (const pair of node.items) {
      const key = isScalar(pair.key) ? String(pair.key.source ?? pair.key.value) : String(pair.key)
      // A map's values are nodes of the same document.
      entries.set(key, convert(pair.value as Node | null, lines, env, problems, path === '' ? key : `${path}.${key}`, depth + 1))
    }
    return { kind: 'map', line, entries }
  }
  if (isSeq(node)) {
    // A list's items are nodes of the same document.
    return { kind: 'list', line, items: node.items.map((item, index) => convert(item as Node | null, lines, env, problems, `${path}[${index}]`, depth + 1)) }
  }
  if (!isScalar(node) || node.value === null) return { kind: 'null', line }
  if (typeof node.value === 'boolean') return { kind: 'boolean', line, value: node.value }
  if (typeof node.value === 'number') return { kind: 'number', line, text: node.source ?? String(node.value) }
  return { kind: 'text', line, text: substitute(String(node.value), env, problems, line, path) }
}

function substitute(text: string, env: Readonly<Record<string, string | undefined>>, problems: Problem[], line: number, path: string): string {
  return text.replaceAll(VARIABLE, (_whole, name: string) => {
    const value = env[name]
    if (value === undefined || value === '') {
      problems.push({ line, path, message: `environment variable ${name} is not set` })
      return ''
    }
    return value
  })
}

/** A document that came as parsed JSON. */
export function sourceOfJson(value: unknown, depth = 0): SourceNode {
  if (value === null || value === undefined || depth > DEPTH_MAX) return { kind: 'null', line: 0 }
  if (typeof value === 'boolean') return { kind: 'boolean', line: 0, value }
  if (typeof value === 'number') return { kind: 'number', line: 0, text: String(value) }
  if (typeof value === 'string') return { kind: 'text', line: 0, text: value }
  if (Array.isArray(value)) return { kind: 'list', line: 0, items: value.map((item) => sourceOfJson(item, depth + 1)) }
  return { kind: 'map', line: 0, entries: new Map(Object.entries(value).map(([key, item]) => [key, sourceOfJson(item, depth + 1)])) }
}

import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { stripTypeScriptTypes } from 'node:module'

const ROOT = join(import.meta.dirname, '../..')
const IMPORT = /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s+'([^']+)'|^\s*import\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm
/** Strings and comments, in the order they begin; a `//` after a colon is an address, not a comment. */
const STRING_OR_COMMENT = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|\/\*[\s\S]*?\*\/|(?<!:)\/\/[^\n]*/g

/** One TypeScript file of the project. Paths are relative to the root, with slashes. */
export interface SourceFile {
  readonly path: string
  readonly text: string
  /** Files of the project that it names in any import, types included. */
  readonly imports: readonly string[]
  /** Those of them that are still imported without types. */
  readonly runtimeImports: readonly string[]
  /** Packages and `node:` modules it names. */
  readonly packages: readonly string[]
}

/** Every TypeScript file in the given folders, by path. */
export function readSourceTree(...folders: readonly string[]): ReadonlyMap<string, SourceFile> {
  const paths = folders.flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: ROOT })).toSorted()
  return new Map(paths.map((path) => [path, readSourceFile(path, readFileSync(join(ROOT, path), 'utf8'))]))
}

export function readSourceFile(path: string, text: string): SourceFile {
  const code = withoutComments(text)
  const names = importedNames(code)
  return {
    path,
    text,
    imports: names.filter(isRelative).map((name) => target(path, name)),
    runtimeImports: importedNames(withoutComments(stripTypeScriptTypes(text)))
      .filter(isRelative)
      .map((name) => target(path, name)),
    packages: names.filter((name) => !isRelative(name)),
  }
}

/** The text with every comment blanked; strings and line numbers stay. */
export function withoutComments(text: string): string {
  return text.replaceAll(STRING_OR_COMMENT, (part) => (part.startsWith('/') ? part.replaceAll(/[^\n]/g, ' ') : part))
}

/** The text with every comment and every quoted string blanked; template literals stay, since they may contain code. */
export function codeOnly(text: string): string {
  return text.replaceAll(STRING_OR_COMMENT, (part) => part.replaceAll(/[^\n]/g, ' '))
}

/** The folder of `src` to which a file belongs, or its own name if it is at the top. */
export function unitOf(path: string): string {
  const [, first = '', ...rest] = path.split('/')
  return rest.length > 0 ? first : first.replace(/\.ts$/, '')
}

/** A cycle among the given edges as a list of files, or null. */
export function findCycle(edges: ReadonlyMap<string, readonly string[]>): readonly string[] | null {
  const finished = new Set<string>()
  const path: string[] = []
  const visit = (file: string): readonly string[] | null => {
    const seenAt = path.indexOf(file)
    if (seenAt !== -1) return [...path.slice(seenAt), file]
    if (finished.has(file)) return null
    path.push(file)
    for (const next of edges.get(file) ?? []) {
      const cycle = visit(next)
      if (cycle !== null) return cycle
    }
    path.pop()
    finished.add(file)
    return null
  }
  for (const file of edges.keys()) {
    const cycle = visit(file)
    if (cycle !== null) return cycle
  }
  return null
}

/** Groups of files of which each reaches the others, sorted and joined by spaces. */
export function cyclesOf(edges: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const reached = new Map([...edges.keys()].map((file) => [file, reachableBy(file, edges)]))
  const groups = [...edges.keys()]
    .filter((file) => reached.get(file)?.has(file) === true)
    .map((file) => [...(reached.get(file) ?? [])].filter((other) => reached.get(other)?.has(file) === true))
  return [...new Set(groups.map((group) => group.toSorted().join(' ')))].toSorted()
}

/** The files that a file reaches by at least one import; itself only through others. */
function reachableBy(from: string, edges: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const reached = new Set<string>()
  const waiting = [...(edges.get(from) ?? [])]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (reached.has(path)) continue
    reached.add(path)
    waiting.push(...(edges.get(path) ?? []))
  }
  return reached
}

/** Everything that can be reached from `roots` by imports. */
export function reachableFrom(roots: readonly string[], files: ReadonlyMap<string, SourceFile>): ReadonlySet<string> {
  const reached = new Set<string>()
  const waiting = [...roots]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (reached.has(path)) continue
    reached.add(path)
    waiting.push(...(files.get(path)?.imports ?? []))
  }
  return reached
}

function importedNames(code: string): string[] {
  return [...code.matchAll(IMPORT)].map(([, from, bare, dynamic]) => from ?? bare ?? dynamic ?? '')
}

function isRelative(name: string): boolean {
  return name.startsWith('.')
}

function target(path: string, name: string): string {
  return relative(ROOT, join(ROOT, dirname(path), name)).replaceAll('\\', '/')
}

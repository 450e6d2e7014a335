import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { stripTypeScriptTypes } from 'node:module'

const ROOT = join(import.meta.dirname, '../..')
const IMPORT = /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s+'([^']+)'|^\s*import\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm
/** Strings and comments, in the order in which they begin; `//` after a colon is part of a URL, not a comment. */
const STRING_OR_COMMENT = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|\/\*[\s\S]*?\*\/|(?<!:)\/\/[^\n]*/g

/** One TypeScript file of the project. Paths are relative to the root, with slashes. */
export interface SourceFile {
  readonly path: string
  readonly text: string
  /** Files of the project that it imports in any way, types included. */
  readonly imports: readonly string[]
  /** The imported files that remain when types are removed. */
  readonly runtimeImports: readonly string[]
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
  }
}

/** The text with every comment replaced by spaces; strings and line numbers stay. */
export function withoutComments(text: string): string {
  return text.replaceAll(STRING_OR_COMMENT, (part) => (part.startsWith('/') ? part.replaceAll(/[^\n]/g, ' ') : part))
}

/** The text with comments and quoted strings replaced by spaces; template literals, which may contain code, stay. */
export function codeOnly(text: string): string {
  return text.replaceAll(STRING_OR_COMMENT, (part) => part.replaceAll(/[^\n]/g, ' '))
}

/** The folder of `src` that a file belongs to, or the file's own name if it is directly in `src`. */
export function unitOf(path: string): string {
  const [, first = '', ...rest] = path.split('/')
  return rest.length > 0 ? first : first.replace(/\.ts$/, '')
}

/** All files that can be reached from `roots` by imports. */
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

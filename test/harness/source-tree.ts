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

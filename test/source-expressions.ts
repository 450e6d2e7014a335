import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync, Visitor } from 'oxc-parser'

const ROOT = join(import.meta.dirname, '..')
/** The slowest takes 4 s of a core; others may wait for it too. */
const TIMEOUT_MS = 120_000

/**
 * Expressions that may take more than linear time, or that the checker cannot decide: each with the bound of the text
 * that it reads.
 */
export const BOUNDED: Readonly<Record<string, string>> = {
  '/;[ \\t]*(?:([!#$%&\'*+\\-.^_`|~0-9A-Za-z]+)=(?:"((?:[^"\\\\]|\\\\[^])*)"|([^;"\\s]*)))?[ \\t]*/gy':
    'multipart.ts reads headers of at most 8 kB with it (of a request 16 kB), and it is sticky: each match begins where the last one ended',
}

interface Expression {
  readonly pattern: string
  readonly flags: string
  readonly places: string[]
}

/** Every literal of the product, by its text; expressions built from text are listed apart. */
export function productExpressions(): {
  readonly literals: ReadonlyMap<string, Expression>
  readonly made: readonly string[]
} {
  const paths = globSync(['src/**/*.ts', 'bin/**/*.js', 'console/src/**/*.{ts,tsx}'], { cwd: ROOT })
    .filter((path) => !/\.test\.tsx?$/.test(path))
    .toSorted()
  const literals = new Map<string, Expression>()
  const made: string[] = []
  for (const path of paths) {
    const text = readFileSync(join(ROOT, path), 'utf8')
    const { program, errors } = parseSync(path, text)
    assert.deepEqual(errors, [], path)
    const placeOf = (start: number): string => `${path}:${text.slice(0, start).split('\n').length}`
    const isRegExp = (callee: { readonly type: string; readonly name?: unknown }): boolean =>
      callee.type === 'Identifier' && callee.name === 'RegExp'
    new Visitor({
      Literal: (node) => {
        if (!('regex' in node)) return
        const { pattern, flags } = node.regex
        const known = literals.get(`/${pattern}/${flags}`) ?? { pattern, flags, places: [] }
        known.places.push(placeOf(node.start))
        literals.set(`/${pattern}/${flags}`, known)
      },
      NewExpression: (node) => {
        if (isRegExp(node.callee)) made.push(placeOf(node.start))
      },
      CallExpression: (node) => {
        if (isRegExp(node.callee)) made.push(placeOf(node.start))
      },
    }).visit(program)
  }
  return { literals, made }
}

/**
 * Repeats only a written number of times, and that is small: linear for every text. The checker takes seconds to prove
 * it for ranges of hundreds.
 */
export function isCounted(pattern: string): boolean {
  const bare = pattern.replaceAll(/\\[^]/g, 'e').replaceAll(/\[[^\]]*\]/g, 'c')
  if (/[*+]|\{\d+,\}/.test(bare)) return false
  return [...bare.matchAll(/\{(?:\d+,)?(\d+)\}/g)].reduce((product, [, most]) => product * Number(most), 1) <= 100_000
}

/**
 * `linear`, or what else. The checker reads its settings when it is loaded: in this process, without the binary or the
 * Java program that it could start.
 */
export async function verdictOf(pattern: string, flags: string): Promise<string> {
  process.env['RECHECK_BACKEND'] = 'pure'
  const { check } = await import('recheck')
  const found = await check(pattern, flags, { timeout: TIMEOUT_MS })
  if (found.status === 'safe') return 'linear'
  return found.status === 'vulnerable' ? found.complexity.summary : `not decided: ${found.error.kind}`
}

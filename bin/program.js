import { spawnSync } from 'node:child_process'
import cluster from 'node:cluster'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const SOURCE = join(ROOT, 'src/main.ts')
const BUILT = join(ROOT, 'dist/main.js')
const SOURCES = ['src', 'package-lock.json', 'scripts/build-server.ts']

/** A busy machine takes a quarter of it. */
const BUILD_MS_MAX = 60_000

/**
 * Builds the bundle of a clone whose sources are newer: it takes a second, and the server that starts from it 60 MB
 * less than from its sources. A failed build is reported and stops nothing.
 */
export function freshenServer() {
  if (cluster.isWorker || !existsSync(SOURCE) || isBuilt() || !existsSync(join(ROOT, 'node_modules/rolldown'))) return
  const reason = failureOf(join(ROOT, 'scripts/build-server.ts'), BUILD_MS_MAX)
  if (reason !== null) process.stderr.write(`The server could not be built and starts from its sources: ${reason}\n`)
}

/** Runs a build, and waits for it; returns why it failed, null = it did not. */
export function failureOf(script, timeout) {
  const { status, stderr, error, signal } = spawnSync(process.execPath, [script], {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'pipe'],
    encoding: 'utf8',
    timeout,
  })
  if (status === 0) return null
  // There are no words of a build that could not begin, or was ended.
  return error?.message ?? (reasonOf(stderr) || `it was ended by ${signal}`)
}

/** The line of a failed program's output with the reason; Node prints the place before it. */
export function reasonOf(stderr) {
  const lines = stderr.trim().split('\n')
  return lines.find((line) => /^\w*Error\b/.test(line)) ?? lines[0] ?? ''
}

/** The program to start: the bundle if no source is newer, since it starts in half the time; else the sources. */
export function program() {
  return !existsSync(SOURCE) || isBuilt() ? BUILT : SOURCE
}

export function isBuilt() {
  return isFresh(
    join(ROOT, 'dist/built'),
    SOURCES.map((name) => join(ROOT, name)),
  )
}

/** Whether the file that a build writes last exists, and no source is newer. */
export function isFresh(stamp, sources) {
  if (!existsSync(stamp)) return false
  const builtMs = statSync(stamp).mtimeMs
  return sources.every((path) => newestMs(path) <= builtMs)
}

/** A file that goes meanwhile, or a link to nothing, as editors make for a file that is open, is no source. */
function newestMs(path) {
  const entry = statSync(path, { throwIfNoEntry: false })
  if (!entry?.isDirectory()) return entry?.mtimeMs ?? 0
  return Math.max(
    entry.mtimeMs,
    ...readdirSync(path, { recursive: true }).map(
      (name) => statSync(join(path, name), { throwIfNoEntry: false })?.mtimeMs ?? 0,
    ),
  )
}

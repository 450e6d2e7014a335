import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const SOURCES = [
  'console/src',
  'console/public',
  'console/index.html',
  'console/vite.config.ts',
  'console/theme-css.ts',
  'console/package.json',
]
const STAMP = join(ROOT, 'console/dist/built')

/** Whether the built console is there and no source of it is newer. */
function isFresh() {
  if (!existsSync(STAMP)) return false
  const builtMs = statSync(STAMP).mtimeMs
  return SOURCES.every((name) => newestMs(join(ROOT, name)) <= builtMs)
}

function newestMs(path) {
  const entry = statSync(path)
  if (!entry.isDirectory()) return entry.mtimeMs
  return Math.max(
    entry.mtimeMs,
    ...readdirSync(path, { recursive: true }).map((name) => statSync(join(path, name)).mtimeMs),
  )
}

/** Builds the console where that is needed and can be done. A build that fails is told and stops nothing. */
export function freshenConsole() {
  const script = join(ROOT, 'scripts/build-console.ts')
  if (!existsSync(script) || !existsSync(join(ROOT, 'console/src')) || isFresh()) return
  if (!existsSync(join(ROOT, 'node_modules/vite'))) {
    process.stderr.write(
      `The console ${existsSync(STAMP) ? 'is older than its sources' : 'is not built'}, and npm ci --omit=dev leaves out what builds it: run npm ci && npm run console:build, then npm ci --omit=dev, or copy console/dist from where it is built\n`,
    )
    return
  }
  const { status, stderr } = spawnSync(process.execPath, [script], {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'pipe'],
    encoding: 'utf8',
  })
  if (status !== 0)
    process.stderr.write(
      `The console could not be built, the server goes on ${existsSync(STAMP) ? 'with the last build' : 'without it'}: ${reasonOf(stderr)}\n`,
    )
}

/** The line that says why; Node begins with where. */
function reasonOf(stderr) {
  const lines = stderr.trim().split('\n')
  return lines.find((line) => /^\w*Error\b/.test(line)) ?? lines[0] ?? ''
}

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isFresh } from './program.js'

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

function isBuilt() {
  return isFresh(
    STAMP,
    SOURCES.map((name) => join(ROOT, name)),
  )
}

/** Builds the console if needed and possible. A failed build is reported and stops nothing. */
export function freshenConsole() {
  const script = join(ROOT, 'scripts/build-console.ts')
  if (!existsSync(script) || !existsSync(join(ROOT, 'console/src')) || isBuilt()) return
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

/** The line with the reason; Node prints the place before it. */
function reasonOf(stderr) {
  const lines = stderr.trim().split('\n')
  return lines.find((line) => /^\w*Error\b/.test(line)) ?? lines[0] ?? ''
}

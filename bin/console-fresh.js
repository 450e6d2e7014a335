import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { failureOf, isFresh, reasonOf } from './program.js'

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
const SCRIPT = join(ROOT, 'scripts/build-console.ts')

function isBuilt() {
  return isFresh(
    STAMP,
    SOURCES.map((name) => join(ROOT, name)),
  )
}

/** Builds the console if needed and possible, and waits for it. A failed build is reported and stops nothing. */
export function freshenConsole() {
  if (!mayBuild()) return
  const reason = failureOf(SCRIPT)
  if (reason !== null) report(reason)
}

/**
 * The same beside the start of a server, which answers meanwhile. The server and its workers find the number of the
 * building process in their environment; it is no setting.
 */
export function freshenConsoleBeside() {
  if (process.env.CONSOLE_BUILDER !== undefined || !mayBuild()) return
  const child = spawn(process.execPath, [SCRIPT], { cwd: ROOT, stdio: ['ignore', 'inherit', 'pipe'] })
  if (child.pid === undefined) return
  process.env.CONSOLE_BUILDER = String(child.pid)
  setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL)
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text
  })
  child.on('close', (status) => {
    if (status !== 0) report(reasonOf(stderr))
  })
  // A server that stops does not wait for the build.
  child.unref()
  child.stderr.unref()
  process.once('exit', () => child.kill())
}

function mayBuild() {
  if (!existsSync(SCRIPT) || !existsSync(join(ROOT, 'console/src')) || isBuilt()) return false
  if (existsSync(join(ROOT, 'node_modules/vite'))) return true
  process.stderr.write(
    `The console ${existsSync(STAMP) ? 'is older than its sources' : 'is not built'}, and npm ci --omit=dev leaves out what builds it: run npm ci && npm run console:build, then npm ci --omit=dev, or copy console/dist from where it is built\n`,
  )
  return false
}

function report(reason) {
  process.stderr.write(
    `The console could not be built, the server goes on ${existsSync(STAMP) ? 'with the last build' : 'without it'}: ${reason}\n`,
  )
}

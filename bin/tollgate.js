#!/usr/bin/env node
// Nothing is imported statically: an older Node would stop at a name that it lacks, before the line that says what to
// do.
const LEAST = [24, 15]
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < LEAST[0] || (major === LEAST[0] && minor < LEAST[1])) {
  const { existsSync } = await import('node:fs')
  const has = (path) => existsSync(new URL(`../${path}`, import.meta.url))
  const inPackage = 'Install it on this machine, or let npx bring one: npx -p node@24 -p tollgate tollgate'
  const inClone = has('node_modules/node/package.json')
    ? 'In a clone run it through npm (npm start), or put node_modules/.bin first in PATH'
    : 'npm ci brings it along with the development packages (without --omit=dev), or install it on this machine'
  const what = has('src') ? inClone : inPackage
  process.stderr.write(`Tollgate needs Node ${LEAST.join('.')} or newer, this is ${process.versions.node}. ${what}.\n`)
  process.exit(1)
}
const [command = 'start', ...rest] = process.argv.slice(2)
const starts = command === 'start' && !rest.includes('--help')
if (starts) startWithLessMemory()
const { enableCompileCache } = await import('node:module')
const { fileURLToPath, pathToFileURL } = await import('node:url')
// Compiled code is kept for the next start, which takes half the time. If the folder cannot be written, the start is
// only slower.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url)))
const { freshenServer, program } = await import('./program.js')
if (starts) {
  freshenServer()
  const { freshenConsoleBeside } = await import('./console-fresh.js')
  freshenConsoleBeside()
}
await import(pathToFileURL(program()).href)

/**
 * A server takes 330 MB instead of 530 if V8 keeps new objects in 32 MB instead of up to 128, and if glibc gives back
 * the memory of large bodies. Both are read only when a process begins, so this one begins again, with the same id and
 * what the operator has set himself. Workers inherit it.
 */
function startWithLessMemory() {
  if (process.platform === 'win32') return
  const options = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].join(' ')
  const semiSpace = /--max[-_]semi[-_]space[-_]size/.test(options) ? [] : ['--max-semi-space-size=16']
  const malloc = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '131072', MALLOC_TRIM_THRESHOLD_: '131072' }
  if (semiSpace.length === 0 && Object.keys(malloc).every((name) => name in process.env)) return
  process.execve(process.execPath, [process.argv0, ...semiSpace, ...process.execArgv, ...process.argv.slice(1)], {
    ...malloc,
    ...process.env,
  })
}

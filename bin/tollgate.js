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
const { enableCompileCache } = await import('node:module')
const { fileURLToPath, pathToFileURL } = await import('node:url')
// Compiled code is kept for the next start, which takes half the time. If the folder cannot be written, the start is
// only slower.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url)))
const [command = 'start', ...rest] = process.argv.slice(2)
if (command === 'start' && !rest.includes('--help')) {
  const { freshenConsole } = await import('./console-fresh.js')
  freshenConsole()
}
const { program } = await import('./program.js')
await import(pathToFileURL(program()).href)

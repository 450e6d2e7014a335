import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freshFolder } from '../harness/lasting.ts'

/** The build that a start in a clone waits for, in a clone with a program of one line. */

const ROOT = join(import.meta.dirname, '../..')
const BUILD = `import { copyFileSync, existsSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
writeFileSync('dist/main.js', '')
writeFileSync('dist/built', '')
`

/** Returns a function that starts in a new clone, and tells what is run and what was said. */
function clone(build: string): { readonly folder: string; readonly start: () => { ran: string; said: string } } {
  const folder = freshFolder()
  for (const path of ['bin', 'src', 'dist', 'scripts', 'node_modules/rolldown'])
    mkdirSync(join(folder, path), { recursive: true })
  copyFileSync(join(ROOT, 'bin/program.js'), join(folder, 'bin/program.js'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(join(folder, 'scripts/build-server.ts'), build)
  for (const path of ['src/main.ts', 'package-lock.json']) writeFileSync(join(folder, path), '')
  const script = `import { freshenServer, program } from './bin/program.js'; freshenServer(); console.log(program())`
  const start = (): { ran: string; said: string } => {
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
      cwd: folder,
      encoding: 'utf8',
    })
    return { ran: stdout.trim().slice(folder.length + 1), said: stderr }
  }
  return { folder, start }
}

test('a start builds what is older than its sources, and nothing else', () => {
  const { folder, start } = clone(BUILD)
  assert.deepEqual(start(), { ran: 'dist/main.js', said: '' })
  writeFileSync(join(folder, 'scripts/build-server.ts'), 'throw new Error("again")')
  const past = new Date(Date.now() - 60_000)
  utimesSync(join(folder, 'scripts/build-server.ts'), past, past)
  assert.deepEqual(start(), { ran: 'dist/main.js', said: '' })
})

test('a link to nothing among the sources, as editors make, stops no start', () => {
  const { folder, start } = clone(BUILD)
  symlinkSync('olga@host.1', join(folder, 'src/.#main.ts'))
  assert.deepEqual(start(), { ran: 'dist/main.js', said: '' })
})

test('a build that fails, or is ended, is told with its reason, and the sources run', () => {
  for (const [build, reason] of [
    ['throw new Error("no disk")', 'Error: no disk'],
    ['process.kill(process.pid, "SIGKILL")\nsetInterval(() => undefined, 1_000)', 'it was ended by SIGKILL'],
  ] as const) {
    const { folder, start } = clone(build)
    assert.deepEqual(start(), {
      ran: 'src/main.ts',
      said: `The server could not be built and starts from its sources: ${reason}\n`,
    })
    assert.ok(!existsSync(join(folder, 'dist/built')))
  }
})

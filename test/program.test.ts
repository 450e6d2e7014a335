import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'

const OLD = 1_000
const BIN = join(import.meta.dirname, '../bin')

test('npm start uses the bundle until a source is newer, and where there are no sources', (context) => {
  const clone = mkdtempSync(join(tmpdir(), 'tollgate-program-'))
  context.after(() => rmSync(clone, { recursive: true }))
  const write = (path: string, seconds: number): void => {
    mkdirSync(dirname(join(clone, path)), { recursive: true })
    writeFileSync(join(clone, path), `console.log(${JSON.stringify(path)})\n`)
    // A folder is as new as its newest name.
    for (const folder of ['src', 'src/other'])
      if (existsSync(join(clone, folder))) utimesSync(join(clone, folder), OLD, OLD)
    utimesSync(join(clone, path), seconds, seconds)
  }
  const started = (): string =>
    spawnSync(process.execPath, [join(clone, 'bin/tollgate.js'), 'start'], { encoding: 'utf8' }).stdout.trim()
  for (const file of ['tollgate.js', 'program.js', 'console-fresh.js']) {
    mkdirSync(join(clone, 'bin'), { recursive: true })
    copyFileSync(join(BIN, file), join(clone, 'bin', file))
  }
  writeFileSync(join(clone, 'package.json'), '{"type":"module"}')
  for (const path of ['src/main.ts', 'src/other/file.ts', 'package-lock.json', 'scripts/build-server.ts'])
    write(path, OLD)
  assert.equal(started(), 'src/main.ts', 'nothing is built')
  write('dist/main.js', 2_000)
  assert.equal(started(), 'src/main.ts', 'a build that did not end')
  write('dist/built', 2_000)
  assert.equal(started(), 'dist/main.js')
  write('src/other/file.ts', 3_000)
  assert.equal(started(), 'src/main.ts', 'a source is newer')
  rmSync(join(clone, 'src'), { recursive: true })
  assert.equal(started(), 'dist/main.js', 'an image without sources')
})

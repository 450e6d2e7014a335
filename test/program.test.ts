import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { freshFolder } from './harness/lasting.ts'

const OLD = 1_000
const BIN = join(import.meta.dirname, '../bin')

test('npm start uses the bundle until a source is newer, and where there are no sources', () => {
  const clone = freshFolder()
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
  mkdirSync(join(clone, 'node_modules/rolldown'), { recursive: true })
  assert.equal(started(), 'scripts/build-server.ts\nsrc/main.ts', 'a build that fails to write')
  write('scripts/build-server.ts', OLD)
  const built = join(clone, 'dist/built')
  writeFileSync(
    join(clone, 'scripts/build-server.ts'),
    `(await import('node:fs')).utimesSync(${JSON.stringify(built)}, 4_000, 4_000)`,
  )
  utimesSync(join(clone, 'scripts/build-server.ts'), OLD, OLD)
  assert.equal(started(), 'dist/main.js', 'it is built first, where its builder is installed')
  rmSync(join(clone, 'src'), { recursive: true })
  assert.equal(started(), 'dist/main.js', 'an image without sources')
})

test('each way to start sets the same limits of memory, and leaves what the operator sets', () => {
  const clone = freshFolder()
  for (const folder of ['bin', 'dist']) mkdirSync(join(clone, folder))
  for (const file of ['tollgate.js', 'program.js', 'console-fresh.js'])
    copyFileSync(join(BIN, file), join(clone, 'bin', file))
  symlinkSync('bin/tollgate.js', join(clone, 'linked'))
  writeFileSync(join(clone, 'package.json'), '{"type":"module"}')
  writeFileSync(
    join(clone, 'dist/main.js'),
    `const malloc = Object.entries(process.env).filter(([name]) => name.startsWith('MALLOC_')).toSorted()
    console.log(JSON.stringify([process.execArgv, malloc.map((pair) => pair.join('=')), process.argv.slice(2)]))`,
  )
  const started = (words: readonly string[], env: Readonly<Record<string, string>> = {}): unknown =>
    JSON.parse(spawnSync(process.execPath, words, { cwd: clone, env, encoding: 'utf8' }).stdout)
  const flag = '--max-semi-space-size=16'
  const malloc = ['MALLOC_ARENA_MAX=2', 'MALLOC_MMAP_THRESHOLD_=131072', 'MALLOC_TRIM_THRESHOLD_=131072']
  assert.deepEqual(started(['bin/tollgate.js']), [[flag], malloc, []])
  assert.deepEqual(started(['linked', 'start']), [[flag], malloc, ['start']])
  assert.deepEqual(started(['--no-warnings', 'bin/tollgate.js', 'start']), [[flag, '--no-warnings'], malloc, ['start']])
  const own = started(['bin/tollgate.js', 'start'], {
    NODE_OPTIONS: '--max_semi_space_size=64',
    MALLOC_ARENA_MAX: '1',
  })
  assert.deepEqual(own, [[], ['MALLOC_ARENA_MAX=1', ...malloc.slice(1)], ['start']])
  assert.deepEqual(started(['bin/tollgate.js', 'audit']), [[], [], ['audit']], 'a command that ends needs none')
  // Every shipped way is this program.
  const { scripts, bin } = JSON.parse(readFileSync(join(BIN, '../package.json'), 'utf8'))
  assert.deepEqual([scripts.start, bin.tollgate], ['exec node bin/tollgate.js start', 'bin/tollgate.js'])
  assert.match(
    readFileSync(join(BIN, '../Dockerfile'), 'utf8'),
    /^ENTRYPOINT \["node", "\/tollgate\/bin\/tollgate.js"\]$/m,
  )
  assert.match(readFileSync(join(BIN, '../deploy/systemd/tollgate.service'), 'utf8'), /^ExecStart=\S+ tollgate start$/m)
})

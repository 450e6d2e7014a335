import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { entryOf } from './harness/unit-groups.ts'
import { freshFolder } from './harness/lasting.ts'

test('a failure in a group of files names its file and line; a file that cannot be loaded fails and stops no other', () => {
  const folder = freshFolder()
  const files = ['broken', 'failing', 'fine'].map((name) => join(folder, `${name}.test.mjs`))
  const texts = [
    "throw new Error('broken as it loads')",
    "import { test } from 'node:test'\n\ntest('this fails', () => { throw new Error('as told') })",
    "import { test } from 'node:test'\ntest('this passes', () => undefined)",
  ]
  for (const [index, file] of files.entries()) writeFileSync(file, texts[index] ?? '')
  const entry = join(folder, 'units.mjs')
  writeFileSync(entry, entryOf(files))
  const { NODE_TEST_CONTEXT: _context, ...env } = process.env
  const { status, stdout } = spawnSync(process.execPath, ['--test', '--test-reporter=spec', entry], {
    env,
    encoding: 'utf8',
  })
  assert.equal(status, 1, stdout)
  assert.match(stdout, /failing\.test\.mjs:3:1/)
  assert.match(stdout, /broken\.test\.mjs cannot be loaded[^]*broken as it loads/)
  assert.match(stdout, /✔ this passes/)
  assert.match(stdout, /pass 1\n[^]*fail 2\n/)
})

test('hooks of a file hold for its own tests, in the order of the files', () => {
  const folder = freshFolder()
  const files = ['one', 'two'].map((name) => join(folder, `${name}.test.mjs`))
  for (const [index, file] of files.entries())
    writeFileSync(
      file,
      `import { after, before, test } from 'node:test'\nbefore(() => console.log('before ${index}'))\nafter(async () => console.log('after ${index}'))\nawait null\ntest('x', () => console.log('test ${index}'))`,
    )
  writeFileSync(join(folder, 'units.mjs'), entryOf(files))
  const { NODE_TEST_CONTEXT: _context, ...env } = process.env
  const { stdout } = spawnSync(process.execPath, [join(folder, 'units.mjs')], { env, encoding: 'utf8' })
  assert.deepEqual(
    stdout.match(/(?:before|test|after) \d/g),
    ['before 0', 'test 0', 'after 0', 'before 1', 'test 1', 'after 1'],
    stdout,
  )
})

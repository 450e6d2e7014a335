import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { join, posix } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '..')
/** Folders of installed, built or running files, not of the project; and binary tables. */
const NOT_OURS = /(?:^|\/)(?:node_modules|dist|data)(?:\/|$)|^\.git(?:\/|$)|\.log$|^\.env$|\.tokens$/
const UPWARD = /(?:\.\.\/)+(?:[\w@.-]+(?:\/[\w@.-]+)*)?/g
const OF_A_MACHINE = /(?<![\w.$}-])\/(?:home|root|Users)\/[\w.-]+/g
/**
 * Names that are no files from the place where they are written: attack strings, addresses, folders within another one,
 * imports that a rule is tried on.
 */
const NO_FILES: readonly string[] = [
  'test/api/ollama.test.ts: /home/operator',
  'test/api/cabinet-payments.test.ts: ../../payments',
  'test/api/peers.test.ts: ../../etc/passwd',
  'test/api/transcription.test.ts: ../../a.exe',
  'test/tidy.test.ts: ../ledger/ledger.ts',
  'test/tidy.test.ts: ../store/store.ts',
  'test/console/site.test.ts: ../src/locales',
  'test/corpora/forms.test.ts: ../../etc/passwd.wav',
  'test/corpora/raw-requests.test.ts: ../v1/key',
  'test/process/ai-sdk-catalogue.test.ts: ../undici',
  'src/protocols/bedrock/request-messages.test.ts: ../etc/passwd',
]
/** This file contains the names that it refuses. */
const SELF = 'test/tidy-clone.test.ts'

/**
 * Names in a file that lead outside the project: by `../` from its folder or from the root, or by a folder of some
 * machine.
 */
function namesOutside(path: string, text: string): string[] {
  const upward = [...text.matchAll(UPWARD)]
    .map(([name]) => name)
    .filter((name) => {
      const named = posix.join(posix.dirname(path), name)
      return named.startsWith('..') || (!existsSync(join(ROOT, named)) && !NOT_OURS.test(named))
    })
  return [...upward, ...[...text.matchAll(OF_A_MACHINE)].map(([name]) => name)].map((name) => `${path}: ${name}`)
}

test('no file of the project names a folder outside it: a clone is whole', () => {
  // The bytes of a picture name nothing.
  const paths = globSync(['**/*', '.*', '.ci/**/*'], { cwd: ROOT, exclude: (path) => NOT_OURS.test(path) }).filter(
    (path) =>
      !NOT_OURS.test(path) && !/\.(?:png|webp)$/.test(path) && path !== SELF && statSync(join(ROOT, path)).isFile(),
  )
  assert.ok(
    ['.ci/run', 'README.md', 'console/src/main.tsx', 'test/recordings/README.md'].every((path) => paths.includes(path)),
  )
  assert.deepEqual(
    paths
      .flatMap((path) => namesOutside(path, readFileSync(join(ROOT, path), 'utf8')))
      .filter((found) => !NO_FILES.includes(found)),
    [],
  )
})

test('the rule above sees what it is for', () => {
  assert.deepEqual(namesOutside('test/run.ts', "join(root, '../shared')"), ['test/run.ts: ../shared'])
  assert.deepEqual(namesOutside('test/run.ts', 'see ../../shared and ../docs/architecture.md'), [
    'test/run.ts: ../../shared',
  ])
  assert.deepEqual(
    namesOutside('README.md', 'stands in `../shared`; /home/somebody/x.ts; https://example.test/home/x'),
    ['README.md: ../shared', 'README.md: /home/somebody'],
  )
})

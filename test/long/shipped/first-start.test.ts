import assert from 'node:assert/strict'
import { cpSync, globSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freshFolder } from '../../harness/lasting.ts'
import { found, until } from '../../harness/patience.ts'
import { startTollgate, type Tollgate } from '../../harness/server.ts'

const ROOT = join(import.meta.dirname, '../../..')
/** What a start needs of a clone; its builds are left out. */
const PARTS = ['bin', 'src', 'scripts', 'console', 'package.json', 'package-lock.json', 'tsconfig.json']
const BUILT = /Built the console in/
const clone = freshFolder()
for (const part of PARTS)
  cpSync(join(ROOT, part), join(clone, part), {
    recursive: true,
    filter: (path) => !path.startsWith(join(ROOT, 'console/dist')) && !path.includes('/node_modules/'),
  })
symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'))
const main = join(clone, 'bin/tollgate.js')

const isBuilt = (tollgate: Tollgate): boolean => tollgate.logs().some((line) => BUILT.test(line))
/** Builds that have begun and not ended. */
const builds = (): readonly string[] => globSync('console/dist/.build-*', { cwd: clone })

test('a server that is stopped while its console is built leaves no build behind', async () => {
  const tollgate = await startTollgate({ main })
  await until(30_000, 'the build begins', () => builds().length === 1)
  await tollgate.stop()
  assert.equal(tollgate.exitCode, 0)
  await until(30_000, 'the build ends too', () => builds().length === 0)
  assert.ok(!isBuilt(tollgate))
})

test('the first start of a clone answers while its console is built, and its pages become the console', async () => {
  const tollgate = await startTollgate({ main, env: { TOLLGATE_WORKERS: '1' } })
  const page = async (path: string): Promise<string> =>
    (await fetch(tollgate.url + path, { headers: { accept: 'text/html' } })).text()
  const pages = await Promise.all(['/', '/setup?token=x', '/operator/models'].map(page))
  const key = await found(10_000, 'the key', () => /sk-tg-\S+/.exec(tollgate.logs().join('\n'))?.[0])
  const answer = await fetch(`${tollgate.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sandbox/chat', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  assert.equal(answer.status, 200, await answer.text())
  assert.ok(!isBuilt(tollgate), 'the answer came first')
  for (const text of pages) assert.match(text, /http-equiv="refresh".+The console is being built/s)
  assert.ok(builds().length <= 1)
  await until(120_000, 'it is built', () => isBuilt(tollgate))
  await until(10_000, 'the console is there', async () => (await page('/')).includes('id="root"'))
  for (const path of ['/setup?token=x', '/operator/models']) assert.match(await page(path), /id="root"/)
  await tollgate.stop()
})

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ApiClient } from '../harness/api-client.ts'
import { found, until } from '../harness/patience.ts'
import { COMPILED, MAIN } from '../harness/server.ts'
import { mountSmallDisk } from './small-disk.ts'
import { freshFolder } from '../harness/lasting.ts'

const TOKEN = 'f'.repeat(48)

test('F6: the disk of the log is full: requests go on, and their lines are written once there is room', async () => {
  const disk = mountSmallDisk(4)
  if (disk === null) return
  const dataDir = freshFolder()
  const logPath = join(disk.path, 'server.log')
  const log = openSync(logPath, 'a')
  const env = {
    ...COMPILED,
    PATH: process.env['PATH'],
    HOST: '127.0.0.1',
    PORT: '0',
    TOLLGATE_DATA: dataDir,
    TOLLGATE_ADMIN_TOKEN: TOKEN,
  }
  const child = spawn(process.execPath, [MAIN, 'start'], { cwd: dataDir, env, stdio: ['ignore', log, 'inherit'] })
  try {
    const client = new ApiClient(await written(logPath, /Tollgate ready on (http:\/\/\S+)/), TOKEN)
    const { key } = await client.createAccount()
    const lines = (): number =>
      readFileSync(logPath, 'utf8')
        .split('\n')
        .filter((line) => line.includes('/v1/chat/completions') && line.endsWith('}')).length
    disk.fill()
    const ask = (): ReturnType<ApiClient['request']> =>
      client.post('/v1/chat/completions', key, {
        model: 'sandbox/chat',
        messages: [{ role: 'user', content: 'Hi\nsandbox: words=2' }],
      })
    for (let round = 0; round < 10; round += 1)
      for (const answer of await Promise.all(Array.from({ length: 10 }, ask)))
        assert.equal(answer.status, 200, answer.text)
    assert.equal(child.exitCode, null)
    disk.free()
    assert.equal((await ask()).status, 200)
    await until(5_000, 'there is room again', () => lines() >= 101)
    assert.equal((await ask()).status, 200)
    await until(5_000, 'the lines are written', () => lines() >= 102)
    assert.equal(lines(), 102, 'one line for each request')
    const { body } = await client.admin('GET', '/admin/v1/audit')
    assert.equal(body.violations, 0)
  } finally {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    disk.stop()
  }
})

function written(path: string, pattern: RegExp): Promise<string> {
  return found(60_000, `${pattern.source} in the log`, () => pattern.exec(readFileSync(path, 'utf8'))?.[1])
}

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { until } from '../harness/patience.ts'
import { isChosen } from './client-run.ts'

test('a client is chosen by the first words of its name', () => {
  const names = [
    'Pi',
    'Copilot CLI',
    'pydantic-ai (Python)',
    'Codex',
    'Codex over a WebSocket',
    'Cline',
    "Cline's core",
  ]
  const chosenBy = (asked: string): readonly string[] => names.filter((name) => isChosen({ name }, asked))
  assert.deepEqual(chosenBy('pi'), ['Pi'])
  assert.deepEqual(chosenBy('codex'), ['Codex', 'Codex over a WebSocket'])
  assert.deepEqual(chosenBy('codex over'), ['Codex over a WebSocket'])
  assert.deepEqual(chosenBy('cline'), ['Cline', "Cline's core"])
  assert.deepEqual(chosenBy('copilot'), ['Copilot CLI'])
  assert.deepEqual(chosenBy('cli'), [])
  assert.deepEqual(chosenBy(''), names)
})

const RUN = `
import { spawn } from 'node:child_process'
import { startRunFolder } from ${JSON.stringify(join(import.meta.dirname, 'run-folder.ts'))}
const { folder } = startRunFolder()
const options = { env: { HOME: folder }, detached: true, stdio: 'ignore' }
const daemon = spawn(process.execPath, ['-e', 'setInterval(() => undefined, 1000)'], options)
daemon.unref()
daemon.once('spawn', () => console.log(JSON.stringify({ folder, daemon: daemon.pid })))
setInterval(() => undefined, 1000)
`

test('a run that is killed leaves no daemon of a client and no file', async () => {
  const run = spawn(process.execPath, ['--input-type=module', '-e', RUN], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [said] = (await once(run.stdout, 'data')) as [Buffer]
  const { folder, daemon } = JSON.parse(said.toString()) as { readonly folder: string; readonly daemon: number }
  assert.ok(existsSync(folder) && existsSync(`/proc/${daemon}`))
  run.kill('SIGKILL')
  await until(5_000, 'the folder is gone', () => !existsSync(folder))
  await until(5_000, 'the daemon has ended', () => !existsSync(`/proc/${daemon}`))
})

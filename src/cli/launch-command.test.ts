import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { runCli } from '../../test/harness/cli-run.ts'
import { freshFolder } from '../../test/harness/lasting.ts'

const home = freshFolder()
const env = { HOME: home, TOLLGATE_URL: 'https://ai.example', TOLLGATE_API_KEY: 'sk-tg-abc' }

test('a client is named by one word or by its page, and gets this service, key and model', async () => {
  for (const name of ['claude', 'claude-code'])
    assert.deepEqual(await runCli(['launch', name, '--model', 'm/one'], env), {
      code: 0,
      out: 'export ANTHROPIC_BASE_URL=https://ai.example\nexport ANTHROPIC_AUTH_TOKEN=sk-tg-abc\nclaude --model m/one',
      err: '',
    })
  const { out } = await runCli(['launch', 'gemini'], { HOME: home, TOLLGATE_PUBLIC_URL: 'https://public.example/' })
  assert.match(out, /sk-tg-…/)
  assert.match(out, /=https:\/\/public\.example\n/)
})

test('--write makes a file for its owner only, once, and leaves one with other settings as it is', async () => {
  const path = join(home, '.codex/config.toml')
  const write = ['launch', 'codex', '--write']
  const first = await runCli(write, env)
  assert.equal(first.code, 0, first.err)
  assert.match(first.out, /^# Wrote ~\/\.codex\/config\.toml\nexport TOLLGATE_API_KEY=sk-tg-abc\n/)
  assert.match(readFileSync(path, 'utf8'), /\nbase_url = "https:\/\/ai\.example\/v1"\n/)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  const again = await runCli(write, env)
  assert.equal(again.code, 0)
  assert.match(again.out, /as it should be/)
  writeFileSync(path, 'model = "mine"\n')
  const other = await runCli(write, env)
  assert.equal(other.code, 1)
  assert.match(other.out, /left as it is[^]*model_provider = "tollgate"/)
  assert.equal(readFileSync(path, 'utf8'), 'model = "mine"\n')
})

test('--write follows no link, not even one that leads nowhere', async () => {
  const target = join(home, 'elsewhere')
  const other = mkdtempSync(join(home, 'other-'))
  mkdirSync(join(other, '.codex'))
  symlinkSync(target, join(other, '.codex/config.toml'))
  const { code, out } = await runCli(['launch', 'codex', '--write'], { ...env, HOME: other })
  assert.equal(code, 1)
  assert.match(out, /left as it is/)
  assert.equal(existsSync(target), false)
})

test('a client that is not known, and --write without a key, are one sentence', async () => {
  const { code, err } = await runCli(['launch', 'emacs'], env)
  assert.equal(code, 2)
  assert.match(
    err,
    /^tollgate: 'emacs' is no client that is known here\. Known: claude, codex, gemini, opencode, qwen, /,
  )
  const bare = await runCli(['launch', 'codex', '--write'], { HOME: home })
  assert.deepEqual([bare.code, bare.err], [2, 'tollgate: --write needs a key: --key, or TOLLGATE_API_KEY'])
})

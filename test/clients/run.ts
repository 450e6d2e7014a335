import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { CLIENTS, type Packages } from './client-run.ts'
import { commandLineClients } from './clients.ts'
import { libraries } from './libraries.ts'
import { startRunFolder } from './run-folder.ts'

/**
 * `npm run test:clients [-- first words of a client's name]`: real clients against a running server and a scripted
 * provider. They are installed into a folder of the cache, each once for its version.
 */
const PACKAGES: Readonly<Record<Packages, readonly string[]>> = {
  npm: [
    '@anthropic-ai/claude-code@2.1.330',
    '@openai/codex@0.169.0',
    '@google/gemini-cli@0.61.0',
    'opencode-ai@1.18.33',
    '@qwen-code/qwen-code@0.24.4',
    '@continuedev/cli@1.5.47',
    'cline@3.0.65',
    '@mariozechner/pi-coding-agent@0.73.1',
    '@github/copilot@1.0.102',
  ],
  node: [
    'langchain@1.5.14',
    '@langchain/openai@1.5.8',
    '@langchain/core@1.4.0',
    'ai@6.0.326',
    '@openrouter/ai-sdk-provider@2.10.0',
    'zod@4.6.7',
  ],
  python: [
    'llm==0.36',
    'litellm==1.83.0',
    'langchain==1.4.7',
    'langchain-openai==1.7.3',
    'langchain-anthropic==1.7.7',
    'anthropic==2.12.0',
    'google-genai==3.4.0',
    'cohere==7.3.1',
  ],
  // These need other versions of the SDKs above.
  llamaindex: ['llama-index-core==0.14.25', 'llama-index-llms-openai-like==0.8.1'],
  'pydantic-ai': ['pydantic-ai-slim[openai]==2.62.0'],
  aider: ['aider-chat==0.86.2'],
  dify: ['dify_plugin==0.7.4'],
  'open-webui': ['open-webui==0.12.4'],
  librechat: ['@librechat/agents@3.9.2', 'librechat-data-provider@0.8.524'],
  n8n: ['n8n@2.38.7'],
}

process.env['CLIENT'] = process.argv.slice(2).join(' ').toLowerCase()
const chosen = [...commandLineClients(), ...libraries()]
if (chosen.length === 0) throw new Error(`No client's name begins with '${process.env['CLIENT']}'.`)
const wanted = new Set(chosen.map(({ packages = 'npm' }) => packages))

install('npm', () => {
  npmPackages('npm')
})
install('node', () => {
  npmPackages('node')
})
// Scripts of its packages would send statistics.
install('librechat', () => {
  npmPackages('librechat', '--ignore-scripts')
})
for (const kind of ['python', 'llamaindex', 'pydantic-ai', 'aider', 'dify'] as const)
  install(kind, () => {
    const folder = join(CLIENTS, kind)
    command('python3', ['-m', 'venv', '--clear', folder])
    command(join(folder, 'bin/pip'), ['install', '--quiet', '--disable-pip-version-check', ...PACKAGES[kind]])
  })

// What it needs at its start and for a chat: models that run in its own process would be gigabytes.
install('open-webui', () => {
  const folder = join(CLIENTS, 'open-webui')
  const pip = join(folder, 'bin/pip')
  command('python3', ['-m', 'venv', '--clear', folder])
  command(pip, ['install', '--quiet', '--no-deps', ...PACKAGES['open-webui']])
  command(pip, ['install', '--quiet', '-r', join(import.meta.dirname, 'open-webui.txt')])
})
// Scripts of its packages would fetch programs. It needs a build of SQLite, made with the headers of the system's Node.
install('n8n', () => {
  const folder = npmPackages('n8n', '--ignore-scripts')
  const sqlite = join(folder, 'node_modules/sqlite3')
  command(join(folder, 'node_modules/.bin/node-gyp'), ['rebuild', '--nodedir=/usr'], sqlite)
})

const { folder, end } = startRunFolder()
process.env['TMPDIR'] = folder
const count = { passed: 0, failed: 0 }
const events = run({ files: globSync(join(import.meta.dirname, '*.client.ts')), concurrency: 1, timeout: 1_800_000 })
events.on('test:summary', ({ file, counts }) => {
  if (file === undefined) Object.assign(count, { passed: counts.passed, failed: counts.tests - counts.passed })
})
for await (const text of events.compose(spec())) process.stdout.write(text as string)
await end()
process.stdout.write(`\n${count.passed} passed, ${count.failed} failed\n`)
process.exitCode = count.failed > 0 || count.passed === 0 ? 1 : 0

/** Installs what a chosen client needs, if the list of packages differs from the one installed last. */
function install(kind: Packages, work: () => void): void {
  if (!wanted.has(kind)) return
  const list = join(CLIENTS, `${kind}.json`)
  const packages = JSON.stringify(PACKAGES[kind])
  if (existsSync(list) && readFileSync(list, 'utf8') === packages) return
  work()
  writeFileSync(list, packages)
}

/** Installs packages of npm into a folder. */
function npmPackages(kind: 'npm' | 'node' | 'librechat' | 'n8n', ...options: readonly string[]): string {
  const folder = join(CLIENTS, kind)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"private":true}\n')
  command('npm', ['install', '--no-audit', '--no-fund', ...options, ...PACKAGES[kind]], folder)
  return folder
}

function command(program: string, args: readonly string[], cwd = process.cwd()): void {
  const { status } = spawnSync(program, args, { cwd, stdio: 'inherit' })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${status ?? 'a signal'}.`)
}

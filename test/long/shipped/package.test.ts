import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, readFileSync, statSync, globSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'
import { found, patient } from '../../harness/patience.ts'
import { startTollgate } from '../../harness/server.ts'
import { packTarball } from '../../harness/program.ts'
import { freshFolder } from '../../harness/lasting.ts'

const ROOT = join(import.meta.dirname, '../../..')
const INSTALLED_BYTES_MAX = 40 * 1_048_576
const FIRST_ANSWER_MS = 10_000
const folder = freshFolder()
const installed = join(folder, 'node_modules/tollgate')
/** The environment of a stranger's shell, without this clone. */
const ENV = {
  PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
  HOME: join(folder, 'home'),
  npm_config_cache: join(folder, 'cache'),
  npm_config_update_notifier: 'false',
}

const tarball = packTarball(join(folder, 'packed'))
mkdirSync(ENV.HOME)
const words = ['install', '--offline', '--no-audit', '--no-fund', tarball]
execFileSync('npm', words, { cwd: folder, env: ENV, stdio: 'pipe' })
const manifest = (path: string): Record<string, unknown> => JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'))
const filesOf = (path: string): string[] =>
  globSync('**/*', { cwd: path }).filter((name) => statSync(join(path, name)).isFile())

test('the package installs without a registry: it has no dependencies, and little of it', () => {
  const { version, name, engines, bin, ...rest } = manifest(installed)
  const own = manifest(ROOT)
  assert.deepEqual([name, version, engines, bin], [own['name'], own['version'], own['engines'], own['bin']])
  assert.deepEqual(
    ['dependencies', 'devDependencies', 'scripts', 'private', 'workspaces'].filter((key) => key in rest),
    [],
  )
  const files = filesOf(installed)
  const bytes = files.reduce((sum, file) => sum + statSync(join(installed, file)).size, 0)
  assert.ok(bytes < INSTALLED_BYTES_MAX, `${bytes} bytes are installed`)
  const allowed = /^(?:bin\/|dist\/[^/]+$|console\/dist\/|README\.md$|LICENSE$|package\.json$)/
  assert.deepEqual(
    files.filter((file) => !allowed.test(file)),
    [],
  )
  assert.equal(files.filter((file) => /^dist\/openapi-[^.]+\.js$/.test(file)).length, 1, 'chunks of one build only')
})

test('each package that the bundles contain has its licence in the package', () => {
  const server = readFileSync(join(installed, 'dist/third-party.txt'), 'utf8')
  for (const name of ['undici', 'pg', 'ioredis', 'pino', 'yaml', '@opentelemetry/api'])
    assert.match(server, new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(`, 'm'))
  const pages = readFileSync(join(installed, 'console/dist/third-party.txt'), 'utf8')
  for (const name of ['react', 'react-dom', '@mantine/core', '@tanstack/react-query'])
    assert.match(pages, new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(`, 'm'))
  for (const text of [server, pages]) assert.doesNotMatch(text, /^(?:playwright|vite|typescript) /m)
})

test('the software bill of materials names each package whose code is in the bundles, with its hash and licence', () => {
  const { status, stdout, stderr } = spawnSync('npm', ['run', '--silent', 'sbom'], { cwd: ROOT, encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  const { bomFormat, components, metadata } = JSON.parse(stdout) as {
    readonly bomFormat: string
    readonly metadata: { readonly component: { readonly purl: string } }
    readonly components: readonly {
      readonly name: string
      readonly version: string
      readonly hashes: readonly { readonly content: string }[]
      readonly licenses: readonly unknown[]
    }[]
  }
  assert.equal(bomFormat, 'CycloneDX')
  assert.equal(metadata.component.purl, `pkg:npm/tollgate@${String(manifest(installed)['version'])}`)
  const named = new Set(components.map(({ name, version }) => `${name} ${version} (`))
  const texts = ['dist', 'console/dist'].map((path) => readFileSync(join(installed, path, 'third-party.txt'), 'utf8'))
  const titles = texts.flatMap((text) => text.match(/^\S+ \d+\.\d+\.\d\S* \((?=.*\)$)/gm) ?? [])
  assert.ok(titles.length > 60, String(titles.length))
  assert.deepEqual(new Set(titles), named)
  for (const { name, hashes, licenses } of components) {
    assert.match(hashes[0]?.content ?? '', /^[0-9a-f]{128}$/, name)
    assert.equal(licenses.length, 1, name)
  }
})

test('from an empty folder to the first billed answer in ten seconds, with a console and a reference', async () => {
  const startedMs = performance.now()
  const dataDir = join(folder, 'data')
  mkdirSync(dataDir)
  const server = await startTollgate({ main: join(installed, 'bin/tollgate.js'), dataDir, audited: false })
  try {
    const command = /^(curl .+)$/m.exec(server.logs().join('\n'))?.[1] ?? ''
    const curl = spawnSync('sh', ['-c', command.replace('curl ', 'curl -s ')], { encoding: 'utf8' })
    assert.ok(JSON.parse(curl.stdout).usage.cost > 0, curl.stdout)
    const tookMs = performance.now() - startedMs
    assert.ok(tookMs < patient(FIRST_ANSWER_MS), `took ${tookMs.toFixed(0)} ms`)
    const page = await fetch(`${server.url}/`, { headers: { accept: 'text/html' } })
    assert.match(await page.text(), /<script type="module"/)
    for (const path of ['/docs', '/openapi.json']) assert.equal((await fetch(`${server.url}${path}`)).status, 200)
    assert.equal(server.errors(), '')
  } finally {
    await server.stop()
  }
  assert.equal(server.exitCode, 0)
  const audit = tollgate(['audit', '--json'])
  assert.equal(audit.status, 0, audit.stderr)
  assert.equal(tollgate(['--version']).stdout.trim(), manifest(installed)['version'])
})

test('npx of the tarball in an empty folder: the first billed answer in ten seconds, of which the second run is warm', async (context) => {
  for (const run of ['cold', 'warm']) {
    // Not within another package: npm would take its folder.
    const empty = freshFolder()
    copyFileSync(tarball, join(empty, basename(tarball)))
    const startedMs = performance.now()
    const env = { ...ENV, npm_config_offline: 'true', HOST: '127.0.0.1', PORT: '0' }
    const npx = spawn('npx', ['--yes', `./${basename(tarball)}`], {
      cwd: empty,
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const ended = once(npx, 'exit')
    let said = ''
    for (const output of [npx.stdout, npx.stderr]) output.on('data', (part: Buffer) => (said += String(part)))
    try {
      const command = await found(FIRST_ANSWER_MS, 'it prints a request', () => {
        assert.equal(npx.exitCode, null, said)
        return /^curl .+$(?=\n)/m.exec(said)?.[0]
      })
      const curl = spawnSync('sh', ['-c', command.replace('curl ', 'curl -s ')], { encoding: 'utf8' })
      assert.ok(JSON.parse(curl.stdout).usage.cost > 0, curl.stdout)
      const tookMs = performance.now() - startedMs
      context.diagnostic(`${run}: ${(tookMs / 1_000).toFixed(1)} s`)
      assert.ok(tookMs < patient(FIRST_ANSWER_MS), `${run}: took ${tookMs.toFixed(0)} ms`)
    } finally {
      // To all of them, as Ctrl-C in a terminal.
      if (npx.pid !== undefined && npx.exitCode === null) process.kill(-npx.pid, 'SIGTERM')
      await ended
    }
  }
})

test('an older Node is told to install one, or how npx brings one', () => {
  const older = `data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.20.2'})`
  const { status, stderr } = tollgate(['start'], { NODE_OPTIONS: `--import ${older}` })
  assert.equal(status, 1)
  assert.match(
    stderr,
    /^Tollgate needs Node 24\.15 or newer, this is 20\.20\.2\. Install it on this machine, .*npx -p node@24 .*\n$/,
  )
})

/** The command as npm linked it. */
function tollgate(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return spawnSync(join(folder, 'node_modules/.bin/tollgate'), words, {
    cwd: folder,
    env: { ...ENV, TOLLGATE_DATA: join(folder, 'data'), ...env },
    encoding: 'utf8',
  })
}

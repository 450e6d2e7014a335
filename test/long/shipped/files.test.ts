import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { builtProgram, hasProgram, schemaFindings, SCHEMAS } from '../../harness/program.ts'
import { freshFolder } from '../../harness/lasting.ts'

const ROOT = join(import.meta.dirname, '../../..')
const text = (name: string): string => readFileSync(join(ROOT, name), 'utf8')
const HADOLINT = [join(ROOT, 'node_modules/.cache/python/bin/hadolint'), 'hadolint'].find(
  (path) => existsSync(path) || hasProgram(path),
)
/** What `program` has to say of a file; nothing where it is right. */
function complaints(program: string, ...words: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, words, { cwd: ROOT, encoding: 'utf8' })
  return status === 0 ? stderr.trim() : `${stdout}${stderr}`
}

test('the Dockerfile has no finding of hadolint', { skip: HADOLINT === undefined && 'no hadolint' }, () => {
  assert.equal(complaints(HADOLINT ?? '', 'Dockerfile'), '')
})

test('the systemd unit is right, and shut in', { skip: !hasProgram('systemd-analyze') && 'no systemd' }, () => {
  const unit = 'deploy/systemd/tollgate.service'
  assert.equal(complaints('systemd-analyze', 'verify', unit), '')
  assert.equal(complaints('systemd-analyze', 'security', '--offline=true', '--threshold=20', unit), '')
})

test('each setting that a shipped file names is one', () => {
  const known = new Set(
    text('docs/settings.md')
      .match(/`[A-Z][A-Z0-9_]+`/g)
      ?.map((name) => name.slice(1, -1)),
  )
  assert.ok(known.has('TOLLGATE_KEK') && known.has('DATABASE_URL'))
  const files = ['Dockerfile', 'compose.yaml', ...globSync('deploy/**/*.{yaml,tpl,service,md}', { cwd: ROOT })]
  const named = files.flatMap((file) =>
    [...text(file).matchAll(/\b(?:TOLLGATE_[A-Z_]+|DATABASE_URL|VALKEY_URL|TRUSTED_PROXIES)\b/g)].map(([name]) => [
      file,
      name,
    ]),
  )
  assert.ok(named.length > 8)
  assert.deepEqual(
    named.filter(([, name = '']) => !known.has(name)),
    [],
  )
})

test('compose: each node is shut in and has the time to end its answers; nothing is open to other machines', () => {
  for (const file of ['compose.yaml', 'deploy/compose/cluster.yaml']) {
    const { services } = parse(text(file), { merge: true })
    const nodes = Object.values<Record<string, unknown>>(services).filter(({ image }) => image === 'tollgate')
    assert.ok(nodes.length > 0)
    for (const node of nodes) {
      assert.deepEqual(
        [node['read_only'], node['cap_drop'], node['security_opt'], node['stop_grace_period']],
        [true, ['ALL'], ['no-new-privileges:true'], '130s'],
      )
      assert.ok(existsSync(join(ROOT, file, '..', String(node['build']), 'Dockerfile')))
    }
    for (const { ports = [] } of Object.values<{ ports?: string[] }>(services))
      for (const port of ports) assert.match(port, /^127\.0\.0\.1:/)
  }
})

if (SCHEMAS !== null)
  test("the compose files are as Compose's own schema wants them", () => {
    assert.equal(
      schemaFindings('compose', ...['compose.yaml', 'deploy/compose/cluster.yaml'].map((name) => join(ROOT, name))),
      '',
    )
    const folder = freshFolder()
    const wrong = join(folder, 'compose.yaml')
    for (const [from, to] of [
      ['read_only: true', 'readonly: true'],
      ['stop_grace_period: 130s', 'stop_grace_period: long'],
      ['- data:/data', '- gone:/data'],
    ] as const) {
      writeFileSync(wrong, text('compose.yaml').replace(from, to))
      assert.match(schemaFindings('compose', wrong), /compose\.yaml: /, to)
    }
  })

test('CHANGELOG.md has an entry for the version', () => {
  const { version } = JSON.parse(text('package.json'))
  assert.ok(text('CHANGELOG.md').includes(`\n## ${version} `))
})

test('the release is checked by .ci/run, and publishes what npm run package makes', () => {
  const { jobs } = parse(text('.github/workflows/release.yaml'))
  const runs = (name: string): string => jobs[name].steps.map(({ run }: { run?: string }) => run ?? '').join('\n')
  assert.match(runs('check'), /bash \.ci\/run/)
  assert.equal(jobs.publish.needs, 'check')
  // Else npm refuses the proof of provenance, which names the repository.
  const packing = jobs.publish.steps.find(({ run = '' }: { run?: string }) => run === 'npm run package')
  assert.match(packing.env.TOLLGATE_REPOSITORY, /\/\$\{\{ github\.repository \}\}\.git$/)
  const scripts = Object.keys(JSON.parse(text('package.json')).scripts)
  for (const [, script = ''] of runs('publish').matchAll(/npm run (?:--silent )?(\S+)/g))
    assert.ok(scripts.includes(script), script)
})

test('the scripts have no finding of shellcheck', { skip: !hasProgram('shellcheck') && 'no shellcheck' }, () => {
  assert.equal(complaints('shellcheck', '.ci/run', 'deploy/image/root.sh'), '')
})

const ACTIONLINT = builtProgram('actionlint')
if (ACTIONLINT === null) process.stdout.write('No actionlint on this machine: the workflow is not checked by it.\n')
else
  test('the workflow has no finding of actionlint', () => {
    const workflow = '.github/workflows/release.yaml'
    assert.equal(complaints(ACTIONLINT, workflow), '')
    const folder = freshFolder()
    const wrong = join(folder, 'release.yaml')
    writeFileSync(wrong, text(workflow).replace('needs: check', 'needs: chekc'))
    assert.match(complaints(ACTIONLINT, wrong), /"chekc"/)
  })

test('the checksums that the release writes are those of its files', () => {
  const { jobs } = parse(text('.github/workflows/release.yaml'))
  const line = jobs.publish.steps
    .map(({ run = '' }: { run?: string }) => run)
    .find((run: string) => run.includes('SHA256SUMS'))
  const folder = freshFolder()
  for (const name of ['tollgate-0.0.0.tgz', 'sbom.cdx.json']) writeFileSync(join(folder, name), name)
  const run = (command: string) => spawnSync('sh', ['-ec', command], { cwd: folder, encoding: 'utf8' })
  assert.equal(run(line.replace('cd dist/npm', 'true')).status, 0, line)
  assert.equal(run('sha256sum --check SHA256SUMS').stdout, 'tollgate-0.0.0.tgz: OK\nsbom.cdx.json: OK\n')
})

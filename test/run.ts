import { spawnSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const shared = join(root, '../shared')

if (!existsSync(join(shared, 'fixtures/upstream'))) {
  process.stderr.write(`The recorded provider cases are missing: ${join('..', 'shared', 'fixtures', 'upstream')} must stand beside the project.\n`)
  process.exit(1)
}

// Everything in one call, so that the runner's closing summary counts every test.
const files = [...globSync('src/**/*.test.ts', { cwd: root }), ...globSync('test/**/*.test.ts', { cwd: root })].toSorted()
const only = process.argv.slice(2)
const chosen = only.length === 0 ? files : files.filter((file) => only.some((part) => file.includes(part)))
// The long forms of crash tests take an hour.
const timeoutMs = process.env['TOLLGATE_CHAOS'] === undefined ? 300_000 : 7_200_000
// Once for all test files, which would otherwise build it at the same time.
spawnSync(process.execPath, ['-e', "import('./bin/console-fresh.js').then(({ freshenConsole }) => freshenConsole())"], { cwd: root, stdio: 'inherit' })
const { status } = spawnSync(process.execPath, ['--test', '--test-reporter=spec', '--test-concurrency=2', `--test-timeout=${timeoutMs}`, ...chosen], { cwd: root, stdio: 'inherit' })
process.exit(status ?? 1)

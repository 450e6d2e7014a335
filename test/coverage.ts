import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { join } from 'node:path'

/** Line and branch coverage of the most critical code (reliability.md S9), servers in separate processes included. */
const root = join(import.meta.dirname, '..')
/** Ledger, access, event streams, URL guard. */
const MEASURED = [
  'src/ledger/*.ts',
  'src/access/*.ts',
  'src/http/sse.ts',
  'src/protocols/wire/stream-decoders.ts',
  'src/base/*-address.ts',
  'src/protocols/wire/connections.ts',
  'src/catalog/upstream-address.ts',
]
const TESTS = [
  'src/ledger/*.test.ts',
  'src/access/*.test.ts',
  'src/http/sse.test.ts',
  'src/base/*.test.ts',
  'src/catalog/upstream-address.test.ts',
  'src/protocols/wire/sse-decoder.test.ts',
  'test/store/sqlite-store.test.ts',
  'test/store/journal.test.ts',
  'test/store/ledger-outage.test.ts',
  'test/store/postgres-store.test.ts',
  'test/api/route-matrix.test.ts',
  'test/process/ssrf.test.ts',
  'test/api/admin.test.ts',
  'test/long/api/kek.test.ts',
  'test/long/api/cabinet-sign-in.test.ts',
  'test/process/console-session.test.ts',
  'test/api/public-address.test.ts',
  'test/api/peers.test.ts',
  'test/process/idempotency.test.ts',
  'test/api/free-rules.test.ts',
  'test/api/streams.test.ts',
  'test/process/unauthenticated-bodies.test.ts',
  'test/long/nodes/sharing.test.ts',
  'test/clock/valkey.test.ts',
]

/** Of all measured files together, in hundredths; a run of some tests has no bound. */
const LEAST = ['--test-coverage-lines=100', '--test-coverage-branches=95']

process.env['TEST_FORM'] = 'long'
const only = process.argv.slice(2)
const files = TESTS.flatMap((pattern) => globSync(pattern, { cwd: root })).filter(
  (file) => only.length === 0 || only.some((part) => file.includes(part)),
)
const include = MEASURED.flatMap((pattern) => ['--test-coverage-include', pattern])
const { status } = spawnSync(
  process.execPath,
  [
    '--test',
    '--experimental-test-coverage',
    ...(only.length === 0 ? LEAST : []),
    ...include,
    '--test-coverage-exclude',
    'src/**/*.test.ts',
    '--test-concurrency=2',
    '--test-timeout=600000',
    '--test-reporter=spec',
    ...files,
  ],
  { cwd: root, stdio: 'inherit' },
)
process.exit(status ?? 1)

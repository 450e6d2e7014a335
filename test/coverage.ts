import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { join } from 'node:path'

/** Line and branch coverage of the most critical code (guarantees.md S9), servers in separate processes included. */
const root = join(import.meta.dirname, '..')
/** Ledger, access, event streams, URL guard. */
const MEASURED = [
  'src/ledger/*.ts',
  'src/access/*.ts',
  'src/http/sse.ts',
  'src/providers/wire/sse-decoder.ts',
  'src/lib/*-address.ts',
  'src/providers/wire/connections.ts',
  'src/providers/wire/guarded-lookup.ts',
  'src/catalog/upstream-address.ts',
]
const TESTS = [
  'src/ledger/*.test.ts',
  'src/access/*.test.ts',
  'src/http/sse.test.ts',
  'src/lib/*.test.ts',
  'src/catalog/upstream-address.test.ts',
  'src/providers/wire/sse-decoder.test.ts',
  'test/store/sqlite-store.long.test.ts',
  'test/store/journal.test.ts',
  'test/store/ledger-outage.test.ts',
  'test/store/postgres-store.long.test.ts',
  'test/api/route-matrix.test.ts',
  'test/api/ssrf.test.ts',
  'test/api/admin.test.ts',
  'test/api/kek.test.ts',
  'test/api/cabinet-sign-in.test.ts',
  'test/api/console-session.test.ts',
  'test/api/public-address.test.ts',
  'test/api/peers.test.ts',
  'test/api/idempotency.test.ts',
  'test/api/free-rules.test.ts',
  'test/api/streams.test.ts',
  'test/corpora/unauthenticated-bodies.test.ts',
  'test/nodes/sharing.test.ts',
  'test/nodes/valkey.long.test.ts',
]

/** Of all measured files together, in hundredths; a run of some tests has no bound. */
const LEAST = ['--test-coverage-lines=100', '--test-coverage-branches=95']

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

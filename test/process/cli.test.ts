import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ADMIN_ROUTES } from '../../src/api/admin/contract.ts'
import { startTollgate } from '../harness/server.ts'
import { startPostgres } from '../harness/postgres.ts'
import { KEK, runCli, type Outcome } from '../harness/cli-run.ts'
import { freshFolder, lasting } from '../harness/lasting.ts'

const CATALOGUE = `
providers:
  acme: { adapter: openai, base_url: "https://api.acme.example/v1", api_key: "\${ACME_KEY}" }
models:
  - id: acme/small
    type: chat
    context_length: 8000
    endpoints:
      - { provider: acme, model: small, price: { currency: RUB, prompt: 10, completion: 20.5 } }
`

const directory = freshFolder()
writeFileSync(join(directory, 'catalogue.yaml'), CATALOGUE)
const tollgate = await lasting(startTollgate({ env: { TOLLGATE_KEK: KEK } }))

/** A command beside the running server, which holds the embedded store. */
function beside(argv: readonly string[], env: Record<string, string> = {}): Promise<Outcome> {
  return runCli(argv, {
    TOLLGATE_DATA: tollgate.dataDir,
    TOLLGATE_URL: tollgate.url,
    TOLLGATE_ADMIN_TOKEN: tollgate.adminToken,
    ...env,
  })
}

/** On a separate store, without a server. */
function alone(argv: readonly string[], env: Record<string, string> = {}): Promise<Outcome> {
  return runCli(argv, { TOLLGATE_DATA: join(directory, 'data'), ...env })
}

async function json(argv: readonly string[]): Promise<Record<string, unknown>> {
  const { code, out, err } = await beside([...argv, '--json'])
  assert.equal(code, 0, err)
  assert.equal(out.split('\n').length, 1)
  return JSON.parse(out)
}

test('--help works everywhere and answers 0', async () => {
  const commands = [
    'start',
    'check',
    'apply',
    'export',
    'migrate',
    'copy',
    'audit',
    'admin create',
    'kek rotate',
    'catalog update',
    'topup',
    'launch',
    ...['create', 'list', 'show', 'update'].map((verb) => `account ${verb}`),
    ...['create', 'list', 'update', 'delete'].map((verb) => `key ${verb}`),
  ]
  const general = await runCli(['--help'])
  for (const command of commands) {
    const help = await runCli([...command.split(' '), '--help'])
    assert.equal(help.code, 0)
    assert.match(help.out, new RegExp(`^Usage: tollgate ${command}`))
    assert.ok(general.out.includes(`tollgate ${command}`), command)
  }
  for (const family of ['account', 'key', 'admin', 'kek', 'catalog'])
    assert.match((await runCli([family, '--help'])).out, new RegExp(`tollgate ${family} `))
  assert.deepEqual(await runCli(['--version']), { code: 0, out: '1.2.3', err: '' })
})

for (const [argv, expected] of [
  [['frobnicate'], /unknown command 'frobnicate'.*start, check/],
  [['account'], /account needs one of: list, create, show, put, update/],
  [['account', 'destroy'], /unknown command 'account destroy'/],
  [['audit', '--loud'], /Unknown option '--loud'.*--since/],
  [['audit', '--since'], /--since.*argument missing/],
  [['audit', '--since', 'tomorrow-ish'], /--since must be an ISO time.*tomorrow-ish/],
  [['apply'], /FILE is missing/],
  [['apply', 'a', 'b'], /'b' is one argument too many/],
  [['apply', '/nowhere/tollgate.yaml'], /\/nowhere\/tollgate\.yaml: no such file/],
  [['check', '/nowhere/tollgate.yaml'], /no such file/],
  [['check', '/tmp'], /^tollgate: \/tmp: cannot be read: it is a folder and not a file$/],
  [
    ['key', 'create', 'acc_1', 'name', '--limit', '-all'],
    /^tollgate: A value of --limit that begins with - is given as --limit=VALUE\. Options of tollgate key create/,
  ],
  [['topup', 'acc_1', '5'], /--reference is missing/],
  [['topup', 'acc_1', '0', '--reference', 'r'], /AMOUNT must be above 0/],
  [['topup', 'acc_1', '0.0000001', '--reference', 'r'], /at most 6 decimals/],
  [['topup', 'acc_1', '9000000000.000001', '--reference', 'r'], /AMOUNT must be an amount/],
  [['account', 'create'], /NAME is missing/],
  [['provider', 'put', 'x', '--body', '/nowhere/x.json'], /no such file/],
  [['token', 'create', 'x', '--role', 'king'], /--role must be one of owner, administrator/],
  [['model', 'put', 'a/b', '--endpoints', 'many'], /--endpoints must be JSON, got 'many'/],
  [['account', 'update', 'acc_1'], /Nothing to change/],
  [
    ['notice', 'channel-create', 'a@example.com', '--kinds', 'shortfall,balance'],
    /--kinds must be a comma list of balance\.low, .*, got 'balance'/,
  ],
  [['account', 'update', 'acc_1', '--rate-limit', 'fast'], /--rate-limit must be requests\/seconds/],
  [['key', 'update', 'key_1', '--running-requests', 'many'], /--running-requests must be a whole number of at least 1/],
  [['key', 'update', 'key_1', '--disabled', 'maybe'], /--disabled must be true or false/],
] as const) {
  test(`tollgate ${argv.join(' ')}: one line names the expected words, exit 2`, async () => {
    const { code, out, err } = await beside(argv)
    assert.deepEqual([code, out], [2, ''])
    assert.match(err, expected)
    assert.equal(err.split('\n').length, 1, err)
  })
}

test('check tells of a misspelt setting', async () => {
  const checked = await runCli(['check', join(directory, 'catalogue.yaml')], {
    ACME_KEY: 'k',
    TOLLGATE_LOG_LEVLE: 'debug',
  })
  assert.deepEqual(
    [checked.code, checked.err],
    [0, 'TOLLGATE_LOG_LEVLE is not a setting, did you mean TOLLGATE_LOG_LEVEL?'],
  )
})

test('check tells which limits are guesses, and quotes each condition of a price', async () => {
  const conditions = 'tiers: [{ above: 4000, prompt: 30 }], service_tiers: { flex: { prompt: 5, completion: 10.25 } }'
  const file = join(directory, 'conditions.yaml')
  writeFileSync(
    file,
    CATALOGUE.replace('completion: 20.5 }', `completion: 20.5, ${conditions} }`).replace(
      'type: chat',
      'type: chat\n    max_completion_tokens: 2000\n    guessed: [max_completion_tokens]',
    ),
  )
  const { code, out, err } = await runCli(['check', file], { ACME_KEY: 'k' })
  assert.deepEqual([code, err], [0, ''])
  assert.deepEqual(out.split('\n').slice(-5), [
    'max_completion_tokens is a guess, since no list states it, of acme/small',
    'acme/small at acme/small, plain: 1000 input + 1000 output cost 0.0305 RUB, the provider 0.0305 RUB',
    'acme/small at acme/small, flex: 1000 input + 1000 output cost 0.01525 RUB, the provider 0.01525 RUB',
    'acme/small at acme/small, above 4000: 4001 input + 1000 output cost 0.14053 RUB, the provider 0.14053 RUB',
    `Settings and ${file} are valid: 1 models, 1 providers`,
  ])
})

test('a malformed setting stops a command that opens the store, but no thin client', async () => {
  const broken = await alone(['migrate'], { PORT: 'http' })
  assert.equal(broken.code, 2)
  assert.match(broken.err, /PORT/)
  assert.equal((await beside(['account', 'list'], { PORT: 'http' })).code, 0)
})

test('thin clients manage accounts, keys and money of the running server', async () => {
  const account = await json(['account', 'create', 'By hand', '--email', 'h@example.com', '--rate-limit', '40/10'])
  assert.deepEqual(
    [account['name'], account['email'], account['rate_limit']],
    ['By hand', 'h@example.com', { requests: 40, window: 10 }],
  )
  const id = String(account['id'])
  assert.equal((await json(['topup', id, '12.5', '--reference', 'cli-1', '--reason', 'cash']))['balance'], 12.5)
  assert.equal((await json(['topup', id, '12.5', '--reference', 'cli-1']))['balance'], 12.5)
  const conflict = await beside(['topup', id, '13', '--reference', 'cli-1'])
  assert.deepEqual([conflict.code, conflict.out], [1, ''])
  assert.match(conflict.err, /cli-1/)
  const changed = await json([
    'account',
    'update',
    id,
    '--status',
    'locked',
    '--rate-limit',
    'none',
    '--allowed-models',
    'a/b,c/d',
  ])
  assert.deepEqual(
    [changed['status'], changed['rate_limit'], changed['allowed_models']],
    ['locked', null, ['a/b', 'c/d']],
  )
  await json(['account', 'update', id, '--status', 'active', '--allowed-models', 'none'])
  const shown = await beside(['account', 'show', id])
  assert.match(shown.out, /^name +By hand$/m)
  assert.match((await beside(['account', 'list', '--query', 'By h'])).out, new RegExp(`^id .*\\n${id} `))

  const key = await json(['key', 'create', id, 'backend', '--limit', '10', '--limit-reset', 'daily'])
  assert.match(String(key['key']), /^sk-tg-/)
  const balance = await tollgate.get('/v1/user/balance', String(key['key']))
  assert.deepEqual([balance.body.user, balance.body.balance], [id, 12.5])
  assert.equal(
    (await json(['key', 'update', String(key['id']), '--disabled', 'true', '--limit', 'none']))['disabled'],
    true,
  )
  const limits = ['--requests-per-minute', '60', '--tokens-per-minute', 'none', '--allowed-ips', '10.0.0.0/8, ::1']
  const limited = await json(['key', 'update', String(key['id']), ...limits])
  assert.deepEqual(
    [limited['requests_per_minute'], limited['tokens_per_minute'], limited['allowed_ips']],
    [60, null, ['10.0.0.0/8', '::1']],
  )
  assert.match((await beside(['key', 'list', id])).out, /backend/)
  assert.deepEqual(await json(['key', 'delete', String(key['id'])]), { id: key['id'], deleted: true })
  assert.match((await beside(['key', 'delete', String(key['id'])])).err, /not found/)
})

test('every route of the admin API has a command, whose help names its fields and says what it does', async () => {
  const general = await runCli(['help'])
  for (const [route, { command: words }] of Object.entries(ADMIN_ROUTES)) {
    const command = words.replace(/ \[.*/, '')
    const help = await runCli(['help', ...command.split(' ')])
    assert.match(help.out, new RegExp(`^Usage: tollgate ${command}\\b`), route)
    assert.ok(general.out.includes(`tollgate ${command}`), command)
  }
  const { out } = await runCli(['help', 'key', 'create'])
  for (const field of ['limit RUB', 'limit-reset daily|weekly|monthly', 'allowed-ips A,B', 'expires-at TIME'])
    assert.ok(out.includes(`--${field}`), out)
})

test('commands made of the contract: tokens, people, codes, catalogue, settings and reports', async () => {
  const token = await json([
    'token',
    'create',
    'ci',
    '--scopes',
    'keys:read,catalog:read',
    '--expires-at',
    '2999-01-01T00:00:00Z',
  ])
  const limited = { TOLLGATE_ADMIN_TOKEN: String(token['token']) }
  assert.equal((await beside(['model', 'list'], limited)).code, 0)
  const refusedHere = await beside(['account', 'list'], limited)
  assert.deepEqual([refusedHere.code, refusedHere.err], [1, 'tollgate: This needs the scope accounts:read'])
  assert.match((await beside(['token', 'list'])).out, /^id +external_id +name +label +state/)
  assert.deepEqual(await json(['token', 'revoke', String(token['id'])]), { id: token['id'], deleted: true })
  assert.match((await beside(['model', 'list'], limited)).err, /admin API needs/)

  writeFileSync(
    join(directory, 'provider.yaml'),
    'adapter: openai\nbase_url: https://api.zeta.example/v1\napi_key: sk-of-zeta-1234\n',
  )
  const provider = await json(['provider', 'put', 'zeta', '--body', join(directory, 'provider.yaml'), '--name', 'Zeta'])
  assert.deepEqual([provider['slug'], provider['name']], ['zeta', 'Zeta'])
  const endpoints = [{ provider: 'zeta', model: 'z', price: { currency: 'RUB', prompt: 1, completion: 2 } }]
  const model = ['model', 'put', 'zeta/one', '--type', 'chat', '--context-length', '8000']
  assert.equal((await json([...model, '--endpoints', JSON.stringify(endpoints)]))['id'], 'zeta/one')
  assert.deepEqual(await json(['model', 'delete', 'zeta/one']), { id: 'zeta/one', deleted: true })
  await json(['provider', 'delete', 'zeta'])
  assert.equal((await json(['settings', 'update', '--maintenance', 'none']))['maintenance'], null)
  assert.equal((await json(['settings', 'show']))['markup'], 1)
  const codes = await json(['code', 'create', '--amount', '100', '--count', '2'])
  assert.ok(Array.isArray(codes['data']) && codes['data'].length === 2)
  assert.match((await beside(['event', 'list', '--action', 'token.', '--limit', '2'])).out, /token\.revoke/)
  for (const argv of [['usage', '--group-by', 'day'], ['margin'], ['health'], ['warnings'], ['payment', 'list']])
    assert.equal((await beside(argv)).code, 0, argv.join(' '))
})

test('without a token, a server or the right token a thin client says so in one line, exit 1', async () => {
  for (const [env, expected] of [
    [{ TOLLGATE_ADMIN_TOKEN: '' }, /TOLLGATE_ADMIN_TOKEN/],
    [{ TOLLGATE_ADMIN_TOKEN: 'w'.repeat(40) }, /admin API needs/],
    [{ TOLLGATE_URL: 'http://127.0.0.1:1' }, /No server answers at http:\/\/127\.0\.0\.1:1/],
  ] as const) {
    const { code, err } = await beside(['account', 'list'], env)
    assert.equal(code, 1)
    assert.match(err, expected)
    assert.equal(err.split('\n').length, 1)
  }
})

for (const [name, command] of [
  ['the store itself', alone],
  ['the server that holds it', beside],
] as const) {
  test(`check, apply, export, audit, kek and admin work through ${name}`, async () => {
    const file = join(directory, 'catalogue.yaml')
    const env = { ACME_KEY: 'secret-acme-key-1234' }
    assert.deepEqual((await command(['check', file], env)).code, 0)
    const unset = await command(['check', file])
    assert.equal(unset.code, 2)
    assert.match(unset.err, /catalogue\.yaml:3: .*ACME_KEY is not set/)
    const dry = await command(['apply', file, '--dry-run'], env)
    assert.equal(dry.code, 0, dry.err)
    assert.match(dry.out, /\+ provider acme\n\+ model acme\/small/)
    assert.doesNotMatch((await command(['export'], env)).out, /acme/)
    const applied = await command(['apply', file], env)
    assert.equal(applied.code, 0, applied.err)
    assert.match(applied.out, /\+ model acme\/small[\s\S]*Applied 2 changes$/)
    assert.equal((await command(['apply', file], env)).out, 'No difference')
    const exported = await command(['export'])
    assert.match(exported.out, /id: acme\/small/)
    assert.doesNotMatch(exported.out, /secret-acme|1234|sandbox/)
    const rotated = await command(['kek', 'rotate'])
    assert.deepEqual([rotated.code, rotated.out], [0, 'Wrapped 1 credentials anew'], rotated.err)
    const audit = await command(['audit', '--json', '--since', '2026-01-01'])
    assert.deepEqual([audit.code, JSON.parse(audit.out).violations], [0, 0], audit.err)
    assert.match((await command(['audit'])).out, /^ok +I1 [\s\S]*\n0 violations$/)
    const admin = await command(['admin', 'create', 'cli@example.com', '--json'])
    assert.equal(admin.code, 0, admin.err)
    assert.match(JSON.parse(admin.out).link, /^http:\/\/127\.0\.0\.1:\d+\/setup\?token=[A-Za-z0-9_-]{43}$/)
    assert.equal((await command(['admin', 'create', 'nobody'])).code, 1)
  })
}

test('a locked store and no token: one line that names both ways out', async () => {
  const { code, err } = await beside(['audit'], { TOLLGATE_ADMIN_TOKEN: '' })
  assert.ok(code === 1 || code === 2)
  assert.match(err, /TOLLGATE_ADMIN_TOKEN/)
  const held = await runCli(['migrate'], { TOLLGATE_DATA: tollgate.dataDir })
  assert.equal(held.code, 1)
  assert.match(held.err, /in use by another running Tollgate/)
})

test('where there is no store, a command that asks or mends one says so and makes nothing', async () => {
  const bill = join(directory, 'bill.csv')
  writeFileSync(bill, 'date,model,cost,currency\n2026-11-01,m,1,RUB\n')
  const database = await startPostgres()
  const nowhere = { TOLLGATE_DATA: join(directory, 'nowhere') }
  const ways: readonly (readonly [env: Record<string, string>, expected: RegExp])[] = [
    [nowhere, /There is no store in .*nowhere\. Is TOLLGATE_DATA right\?/],
    ...(database === null
      ? []
      : [
          [
            { DATABASE_URL: database.url, TOLLGATE_KEK: KEK },
            /There is no store in the database of DATABASE_URL\. Is DATABASE_URL right\?/,
          ] as const,
        ]),
  ]
  try {
    for (const [env, expected] of ways)
      for (const argv of [
        ['audit'],
        ['audit', '--json'],
        ['audit', '--replay'],
        ['export'],
        ['kek', 'rotate'],
        ['catalog', 'update'],
        ['catalog', 'update', '--yes'],
        ['reconcile', bill, '--provider', 'acme'],
        ...(env === nowhere ? [['migrate'], ['backup', join(directory, 'copy')]] : []),
      ]) {
        const { code, out, err } = await runCli(argv, env)
        assert.deepEqual([code, out], [1, ''], argv.join(' '))
        assert.match(err, expected)
      }
    const dry = await runCli(['apply', join(directory, 'catalogue.yaml'), '--dry-run'], { ...nowhere, ACME_KEY: 'k' })
    assert.deepEqual([dry.code, dry.out], [0, '+ provider acme\n+ model acme/small'])
    assert.equal(existsSync(join(directory, 'nowhere')), false)
    // An empty database gets its tables so, and is a store from then on.
    for (const [env] of ways.slice(1)) {
      assert.equal((await runCli(['migrate'], env)).out, 'The schema is up to date')
      assert.equal((await runCli(['audit'], env)).code, 0)
    }
  } finally {
    await database?.stop()
  }
})

test('operands are whole words in the singular', async () => {
  const { out } = await runCli(['--help'])
  const operands = new Set(
    [...out.matchAll(/^  tollgate [a-z -]+?((?: \[?[A-Z_]+\]?)+)/gm)].flatMap(
      ([, words = '']) => words.match(/[A-Z_]+/g) ?? [],
    ),
  )
  assert.ok(operands.has('DELIVERY') && operands.has('PRICE_CHANGE') && operands.has('ACCOUNT'))
  assert.deepEqual(
    [...operands].filter((word) => /(IE|[^S]S)$/.test(word)),
    [],
  )
})

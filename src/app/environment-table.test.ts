import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readConfig, withSecretFiles } from './config.ts'
import { VARIABLES, type Variable } from '../tables/environment-table.ts'
import type { Environment } from '../base/setting-reader.ts'
import { readSourceFile, readSourceTree, withoutComments, type SourceFile } from '../../test/harness/source-tree.ts'

const KEK = Buffer.alloc(32, 'k').toString('base64')
const OTHER_KEK = Buffer.alloc(32, 'o').toString('base64')
const TOKEN = 'f'.repeat(16) + '0123456789abcdef'

function problems(environment: Environment): readonly string[] {
  return readConfig(environment).problems
}

const withFiles = (
  environment: Environment,
  files: Readonly<Record<string, string>>,
): ReturnType<typeof readConfig> => {
  const { env, problems: fileProblems } = withSecretFiles(environment, (path) => {
    const text = files[path]
    return text === undefined ? { problem: 'cannot be read: it does not exist' } : { text }
  })
  const { config: read, problems: others, unknown } = readConfig(env)
  return { config: read, problems: [...fileProblems, ...others], unknown }
}

test('a secret may stand in a file; nothing else is taken for the name of one', () => {
  const environment = {
    TOLLGATE_KEK_FILE: '/run/secrets/kek',
    OPENAI_API_KEY_FILE: ' /run/secrets/openai ',
    AWS_WEB_IDENTITY_TOKEN_FILE: '/var/run/token',
    SSL_CERT_FILE: '/etc/ssl/ca.pem',
    PORT_FILE: '/etc/port',
  }
  const { env, problems: wrong } = withSecretFiles(environment, (path) => ({ text: `\uFEFFof ${path}\r\n` }))
  assert.deepEqual(wrong, [])
  assert.deepEqual(env, {
    ...environment,
    TOLLGATE_KEK: 'of /run/secrets/kek',
    OPENAI_API_KEY: 'of /run/secrets/openai',
  })
  assert.deepEqual(readConfig({ TOLLGATE_DATA_FILE: '/etc/data' }).unknown, [
    'TOLLGATE_DATA_FILE is not a setting: TOLLGATE_DATA is no secret, and takes its value itself',
  ])
})

test('a file of a secret that gives none is one line with the name of its variable, and so is one beside the secret', () => {
  const kek = { TOLLGATE_KEK_FILE: '/run/kek' }
  for (const [environment, files, line] of [
    [{ ...kek, TOLLGATE_KEK: KEK }, {}, 'TOLLGATE_KEK_FILE: is set beside TOLLGATE_KEK: unset one of them'],
    [kek, {}, 'TOLLGATE_KEK_FILE: /run/kek cannot be read: it does not exist'],
    [kek, { '/run/kek': ' \n' }, 'TOLLGATE_KEK_FILE: /run/kek is empty'],
    [{ TOLLGATE_KEK_FILE: ' ' }, {}, 'TOLLGATE_KEK_FILE: is empty: give it the path of a file or unset it'],
    [{ ...kek, DATABASE_URL: 'postgres://db/t' }, {}, 'TOLLGATE_KEK_FILE: /run/kek cannot be read: it does not exist'],
    [{ X_API_KEY_FILE: '/run/x' }, {}, 'X_API_KEY_FILE: /run/x cannot be read: it does not exist'],
    [
      { SMTP_HOST: 'm.test', SMTP_FROM: 'a@m.test', SMTP_USER: 'a', SMTP_PASSWORD_FILE: '/p' },
      {},
      'SMTP_PASSWORD_FILE: /p cannot be read: it does not exist',
    ],
    [{ TOLLGATE_WORKERS: '2', DATABASE_URL_FILE: '/d' }, {}, 'DATABASE_URL_FILE: /d cannot be read: it does not exist'],
    [
      kek,
      { '/run/kek': 'AAAA' },
      "TOLLGATE_KEK_FILE: must be base64 of 32 bytes, or a comma list of such: make one with 'openssl rand -base64 32'",
    ],
  ] as const)
    assert.deepEqual(withFiles(environment, files).problems, [line])
})

const OIDC = { OIDC_ISSUER: 'https://id.test', OIDC_CLIENT_ID: 'c', OIDC_CLIENT_SECRET: 's' }
const SMTP = { SMTP_HOST: 'mail.test', SMTP_FROM: 'ai@gate.test' }
const LOGIN = { ...SMTP, SMTP_USER: 'ai', SMTP_PASSWORD: 'mail-secret' }
const PAYMENT = { YOOKASSA_SHOP_ID: '1', YOOKASSA_SECRET_KEY: 'k' }
const WHOLE = ['-1', '1.5', '1e3', '0x10', '9'.repeat(10), 'many', '１']
const ADDRESS = [
  'gate.test',
  'ftp://gate.test',
  'https://',
  'https://u@gate.test',
  'https://gate.test/#a',
  'https://gate.test/?a=1',
]

/** For each variable a valid value, invalid ones besides the empty one, and the variables that it requires. */
const VALUES: Readonly<
  Record<Variable, { readonly right: string; readonly wrong: readonly string[]; readonly beside?: Environment }>
> = {
  HOST: { right: '[::1]', wrong: ['a b', '-a', 'http://a', 'a\nb'] },
  PORT: { right: '0', wrong: [...WHOLE, '65536'] },
  TOLLGATE_DATA: { right: 'data', wrong: [] },
  TOLLGATE_CONFIG: { right: 'c.yaml', wrong: [] },
  TOLLGATE_PUBLIC_URL: { right: 'https://gate.test/ai', wrong: ADDRESS },
  TRUSTED_PROXIES: { right: '10.0.0.0/8, ::1', wrong: ['proxy', '10.0.0.0/33', '10.0.0.0/8;::1', '::/-1'] },
  ALLOW_PRIVATE_UPSTREAMS: { right: 'true', wrong: ['yes', '1', 'TRUE'] },
  TOLLGATE_LOG_LEVEL: { right: 'warn', wrong: ['trace', 'INFO'] },
  TOLLGATE_LOG_RETENTION_DAYS: { right: '90', wrong: [...WHOLE, '0', '36501'] },
  TOLLGATE_CBR_URL: { right: 'http://127.0.0.1:9/daily?x=1', wrong: ['cbr.ru', 'file:///etc/passwd'] },
  TOLLGATE_PRICES_URL: { right: 'http://127.0.0.1:9/prices', wrong: ['prices', 'file:///etc/passwd'] },
  TOLLGATE_LIMITS_URL: { right: 'http://127.0.0.1:9/limits', wrong: ['limits', 'file:///etc/passwd'] },
  DATABASE_URL: {
    right: 'postgres://u:hunter2@db/t',
    wrong: ['mysql://u:hunter2@db/t', 'db'],
    beside: { TOLLGATE_KEK: KEK },
  },
  VALKEY_URL: { right: 'rediss://:hunter2@cache:6379/2', wrong: ['http://:hunter2@cache', 'cache:6379'] },
  TOLLGATE_VALKEY_TIMEOUT_MS: { right: '250', wrong: [...WHOLE, '0', '60001'] },
  TOLLGATE_WORKERS: {
    right: '4',
    wrong: [...WHOLE, '0', '1025'],
    beside: { DATABASE_URL: 'postgres://db/t', TOLLGATE_KEK: KEK },
  },
  TOLLGATE_KEK: {
    right: `${KEK}, ${OTHER_KEK}`,
    wrong: ['hunter2', `${KEK},hunter2`, Buffer.alloc(32).toString('base64')],
  },
  TOLLGATE_ADMIN_TOKEN: {
    right: TOKEN,
    wrong: ['hunter2', 'x'.repeat(257), `${TOKEN} ${TOKEN}`, `${TOKEN}é`, `change-me-${TOKEN}`],
  },
  TOLLGATE_ADMIN_TOTP: { right: 'optional', wrong: ['no', 'true'] },
  TOLLGATE_URL: { right: 'https://gate.test/', wrong: ADDRESS },
  TOLLGATE_API_KEY: { right: 'sk-tg-abc', wrong: [] },
  OIDC_ISSUER: {
    right: 'http://127.0.0.1:9',
    wrong: ['id.test', 'http://id.test', 'http://127.evil.test'],
    beside: OIDC,
  },
  OIDC_CLIENT_ID: { right: 'c', wrong: [], beside: OIDC },
  OIDC_CLIENT_SECRET: { right: 's', wrong: [], beside: OIDC },
  OIDC_NAME: { right: 'Acme', wrong: [] },
  SMTP_HOST: { right: '::1', wrong: ['a b', 'smtp://a'], beside: SMTP },
  SMTP_FROM: { right: 'a@b.test', wrong: ['AI <ai@example.com>', 'ai'], beside: SMTP },
  SMTP_FROM_NAME: { right: 'Gate', wrong: [], beside: SMTP },
  SMTP_TLS: { right: 'implicit', wrong: ['ssl', 'none'], beside: LOGIN },
  SMTP_PORT: { right: '2525', wrong: [...WHOLE, '0', '65536'], beside: SMTP },
  SMTP_USER: { right: 'ai', wrong: [], beside: LOGIN },
  SMTP_PASSWORD: { right: 'p', wrong: [], beside: LOGIN },
  TELEGRAM_BOT_TOKEN: { right: `1:${'a'.repeat(35)}`, wrong: ['hunter2/..', '1:hunter2'] },
  TELEGRAM_API_URL: { right: 'http://127.0.0.1:9', wrong: [...ADDRESS, 'http://bots.test'] },
  YOOKASSA_SHOP_ID: { right: '1', wrong: [], beside: PAYMENT },
  YOOKASSA_SECRET_KEY: { right: 'k', wrong: [], beside: PAYMENT },
  YOOKASSA_API_URL: { right: 'http://127.0.0.1:8/v3/', wrong: [...ADDRESS, 'http://pay.test'] },
  YOOKASSA_NETWORKS: { right: '10.1.0.0/16', wrong: ['everywhere'] },
  OTEL_EXPORTER_OTLP_ENDPOINT: { right: 'http://collector:4318/', wrong: ADDRESS },
  OTEL_EXPORTER_OTLP_HEADERS: { right: 'Authorization=Basic%20abc, x-b=1', wrong: ['hunter2', 'a=1,hunter2'] },
  OTEL_SERVICE_NAME: { right: 'gate', wrong: [] },
  OTEL_TRACES_SAMPLER_ARG: { right: '0.25', wrong: ['1.5', '-0', 'half', '.5'] },
  OTEL_METRICS_EXPORTER: { right: 'none', wrong: ['prometheus'] },
  OTEL_METRIC_EXPORT_INTERVAL: { right: '5000', wrong: [...WHOLE, '99'] },
}
// The keys of the record are the variables.
const EACH = Object.entries(VALUES) as readonly (readonly [Variable, (typeof VALUES)[Variable]])[]
const SECRETS = EACH.filter(([name]) => 'secret' in VARIABLES[name])

for (const [name, { right, wrong, beside = {} }] of EACH)
  test(`${name}: a right value is read, and a wrong or empty one is one line with its name, whatever else is set`, () => {
    const { problems: none, unknown } = readConfig({ ...beside, [name]: right })
    assert.deepEqual([none, unknown], [[], []])
    for (const value of ['', ' \t', ...wrong]) {
      const lines = problems({ ...beside, [name]: value })
      assert.equal(lines.length, 1, `'${value}': ${lines.join('; ')}`)
      assert.ok(lines[0]?.startsWith(`${name}: `), lines[0])
      assert.doesNotMatch(lines[0] ?? '', /hunter2|\n/)
    }
  })

test('a secret in a file is read as if it were set itself, with whatever space around it, and is refused with the same words', () => {
  assert.ok(SECRETS.length >= 10)
  const space = fc.string({ unit: fc.constantFrom(' ', '\n', '\r\n', '\t'), maxLength: 4 })
  fc.assert(
    fc.property(
      fc.constantFrom(...SECRETS),
      fc.nat(),
      space,
      space,
      ([name, { right, wrong, beside = {} }], pick, before, after) => {
        const value = [right, ...wrong][pick % (wrong.length + 1)] ?? right
        const { [name]: _own, ...others } = beside
        const direct = readConfig({ ...others, [name]: value })
        const filed = withFiles(
          { ...others, [`${name}_FILE`]: '/run/secret' },
          { '/run/secret': `${before}${value}${after}` },
        )
        assert.deepEqual(filed.config, direct.config)
        assert.deepEqual(
          filed.problems,
          direct.problems.map((line) => line.replace(new RegExp(`^${name}: `), `${name}_FILE: `)),
        )
        assert.deepEqual(filed.unknown, [])
      },
    ),
  )
})

test('whatever is set, each problem is one line that begins with the name of a setting, and no secret is in it', () => {
  const values = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.webUrl(),
    fc.constantFrom('0', '1', 'true', 'none'),
  )
  const secret = 'Ω-hunter2-Ω'
  const dictionary = fc.dictionary(fc.constantFrom(...EACH.map(([name]) => name)), values, { maxKeys: 8 })
  fc.assert(
    fc.property(dictionary, fc.constantFrom(...SECRETS), (environment, [name]) => {
      for (const line of problems({ ...environment, [name]: secret })) {
        assert.ok(Object.hasOwn(VARIABLES, line.split(': ')[0] ?? ''), line)
        assert.doesNotMatch(line, /[\p{Cc}\p{Cf}\u2028\u2029]/u)
        assert.ok(!line.includes(secret), line)
      }
    }),
  )
})

test('a name that is probably a setting mistyped is told with the nearest one, and a name of other programs is not', () => {
  const unknown = (...names: readonly string[]): readonly string[] =>
    readConfig(Object.fromEntries(names.map((name) => [name, '1']))).unknown
  for (const [given, meant] of [
    ['TOLLGATE_KEY', 'TOLLGATE_KEK'],
    ['TOLLGATE_URI', 'TOLLGATE_URL'],
    ['TOLLGATE_KEK_FIEL', 'TOLLGATE_KEK_FILE'],
    ['TOLLGATE_LOG_LEVLE', 'TOLLGATE_LOG_LEVEL'],
    ['TOLLGATE_PORT', 'PORT'],
    ['TOLLGATE_DATABASE_URL', 'DATABASE_URL'],
    ['tollgate_kek', 'TOLLGATE_KEK'],
    ['DATABASE_URI', 'DATABASE_URL'],
    ['ALLOW_PRIVATE_UPSTREAM', 'ALLOW_PRIVATE_UPSTREAMS'],
    ['OTEL_EXPORTER_OTLP_HEADER', 'OTEL_EXPORTER_OTLP_HEADERS'],
  ] as const)
    assert.deepEqual(unknown(given), [`${given} is not a setting, did you mean ${meant}?`])
  assert.deepEqual(unknown('TOLLGATE_SPEED\n'), ['TOLLGATE_SPEED is not a setting: see docs/settings.md'])
  assert.deepEqual(unknown('SMTP_PASS', 'SMTP_USERNAME', 'SMTP_HOST'), [
    'SMTP_PASS is not a setting, did you mean SMTP_PASSWORD?',
    'SMTP_USERNAME is not a setting, did you mean SMTP_USER?',
  ])
  assert.deepEqual(
    unknown(
      'SMTP_PASS',
      'PATH',
      'HOME',
      'HOSTNAME',
      'PORTS',
      'OTEL_TRACES_SAMPLER',
      'OTEL_RESOURCE_ATTRIBUTES',
      'OPENAI_API_KEY',
      'OPENAI_API_KEY_FILE',
    ),
    [],
  )
})

/** Reads of a variable that has no row in src/tables/environment-table.ts, each with the reason. */
const READ_BY_NAME: Readonly<Record<string, string>> = {
  'src/main.ts: env[WORKER_ROLE]': 'a parent gives it to its worker',
  "src/main.ts: env['CONSOLE_BUILDER']": 'bin/tollgate.js gives it to the server that it starts',
  "src/cli/launch-command.ts: env['HOME']": "the system's own",
  'src/app/config.ts: env[secret]': 'filled in from its file',
}
/** Its files read variables that AWS, Google and Azure themselves set on their machines, which are not our settings. */
const OF_CLOUDS = 'src/protocols/auth/'
const NAMED_VARIABLE = /\b(?:env|environment)(?:\??\.(?=[A-Z])\w+|(?:\?\.)?\[[^\]]*\]|, ?['"`][A-Z]\w*['"`])/g

function namedVariables({ path, text }: SourceFile): readonly string[] {
  return [...withoutComments(text).matchAll(NAMED_VARIABLE)].map(([read]) => `${path}: ${read}`)
}

test('a variable of the environment is read through the table of the settings only', () => {
  const product = [...readSourceTree('src').values()].filter(
    ({ path }) => !path.endsWith('.test.ts') && !path.startsWith(OF_CLOUDS),
  )
  assert.deepEqual(product.flatMap(namedVariables).toSorted(), Object.keys(READ_BY_NAME).toSorted())
  for (const text of ["process.env['A']", 'env.A_B', 'env?.[NAME]', "ownValue(env, 'A_B')"])
    assert.equal(namedVariables(readSourceFile('src/x.ts', text)).length, 1, text)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig, withEnvFile, type Config } from './config.ts'
import type { Environment } from '../base/setting-reader.ts'

const KEK = Buffer.alloc(32, 'k').toString('base64')
const OTHER_KEK = Buffer.alloc(32, 'o').toString('base64')
const TOKEN = 'f'.repeat(16) + '0123456789abcdef'

function config(environment: Environment): Config {
  const result = readConfig(environment)
  assert.deepEqual(result.problems, [])
  return result.config
}

function problems(environment: Environment): readonly string[] {
  return readConfig(environment).problems
}

test('an empty environment gives the documented defaults', () => {
  assert.deepEqual(
    { ...config({}) },
    {
      host: '127.0.0.1',
      port: 8_080,
      dataDir: './data',
      databaseUrl: null,
      valkeyUrl: null,
      valkeyTimeoutMs: 50,
      workers: 1,
      configFile: null,
      adminToken: null,
      url: 'http://127.0.0.1:8080',
      apiKey: null,
      kek: null,
      publicUrl: null,
      trustedProxies: [],
      allowPrivateUpstreams: false,
      cbrUrl: 'https://www.cbr.ru/scripts/XML_daily.asp',
      dataSet: {
        prices: 'https://raw.githubusercontent.com/pydantic/genai-prices/refs/heads/main/prices/new_data/v2/data.json',
        limits: 'https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json',
      },
      logLevel: 'info',
      logRetentionDays: null,
      adminTotpRequired: false,
      traces: null,
      oidc: null,
      yookassa: null,
      mail: null,
      telegram: null,
    },
  )
})

test('every setting is read', () => {
  const all = config({
    HOST: '[::]',
    PORT: '0',
    TOLLGATE_DATA: '/var/lib/tollgate',
    DATABASE_URL: 'postgres://u:p@db/t',
    TOLLGATE_CONFIG: 'c.yaml',
    TOLLGATE_ADMIN_TOKEN: TOKEN,
    TOLLGATE_URL: 'https://gate.test/',
    TOLLGATE_API_KEY: 'sk-tg-abc',
    TOLLGATE_KEK: `${KEK}, ${OTHER_KEK}`,
    TOLLGATE_PUBLIC_URL: 'https://gate.test/ai/',
    TOLLGATE_WORKERS: '4',
    VALKEY_URL: 'rediss://:p@cache:6379/2',
    TOLLGATE_VALKEY_TIMEOUT_MS: '250',
    TRUSTED_PROXIES: '10.0.0.0/8, ::1',
    ALLOW_PRIVATE_UPSTREAMS: 'true',
    TOLLGATE_CBR_URL: 'http://127.0.0.1:9/daily?x=1',
    TOLLGATE_PRICES_URL: 'http://127.0.0.1:9/prices',
    TOLLGATE_LIMITS_URL: 'http://127.0.0.1:9/limits',
    TOLLGATE_LOG_LEVEL: 'debug',
    TOLLGATE_LOG_RETENTION_DAYS: '90',
    TOLLGATE_ADMIN_TOTP: 'optional',
    OIDC_ISSUER: 'https://id.test',
    OIDC_CLIENT_ID: 'c',
    OIDC_CLIENT_SECRET: 's',
    OIDC_NAME: 'Acme',
    SMTP_HOST: 'mail.test',
    SMTP_PORT: '2525',
    SMTP_TLS: 'starttls',
    SMTP_USER: 'ai',
    SMTP_PASSWORD: 'mail-secret',
    SMTP_FROM: 'ai@gate.test',
    SMTP_FROM_NAME: 'Gate',
    TELEGRAM_BOT_TOKEN: '1:aaaaaaaaaaaaaaaaaaaaaaaa',
    TELEGRAM_API_URL: 'https://bots.test',
    YOOKASSA_SHOP_ID: '1',
    YOOKASSA_SECRET_KEY: 'k',
    YOOKASSA_API_URL: 'http://127.0.0.1:8/v3/',
    YOOKASSA_NETWORKS: '10.1.0.0/16',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/',
    OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Basic%20abc, x-b=1',
    OTEL_SERVICE_NAME: 'gate',
    OTEL_TRACES_SAMPLER_ARG: '0.25',
    OTEL_METRIC_EXPORT_INTERVAL: '5000',
  })
  assert.deepEqual(
    { ...all, kek: all.kek?.map((key) => key.toString()) },
    {
      host: '::',
      port: 0,
      dataDir: '/var/lib/tollgate',
      databaseUrl: 'postgres://u:p@db/t',
      valkeyUrl: 'rediss://:p@cache:6379/2',
      valkeyTimeoutMs: 250,
      workers: 4,
      configFile: 'c.yaml',
      adminToken: TOKEN,
      url: 'https://gate.test',
      apiKey: 'sk-tg-abc',
      kek: ['k'.repeat(32), 'o'.repeat(32)],
      publicUrl: 'https://gate.test/ai',
      trustedProxies: ['10.0.0.0/8', '::1'],
      allowPrivateUpstreams: true,
      cbrUrl: 'http://127.0.0.1:9/daily?x=1',
      dataSet: { prices: 'http://127.0.0.1:9/prices', limits: 'http://127.0.0.1:9/limits' },
      logLevel: 'debug',
      logRetentionDays: 90,
      adminTotpRequired: false,
      traces: {
        endpoint: 'http://collector:4318',
        headers: { authorization: 'Basic abc', 'x-b': '1' },
        serviceName: 'gate',
        ratio: 0.25,
        metricsIntervalMs: 5_000,
      },
      oidc: { issuer: 'https://id.test', clientId: 'c', clientSecret: 's', name: 'Acme' },
      mail: {
        host: 'mail.test',
        port: 2525,
        tls: 'starttls',
        login: { user: 'ai', password: 'mail-secret' },
        from: 'ai@gate.test',
        fromName: 'Gate',
      },
      telegram: { botToken: '1:aaaaaaaaaaaaaaaaaaaaaaaa', apiUrl: 'https://bots.test' },
      yookassa: { shopId: '1', secretKey: 'k', apiUrl: 'http://127.0.0.1:8/v3', networks: ['10.1.0.0/16'] },
    },
  )
})

const REFUSED: readonly (readonly [Environment, RegExp])[] = [
  [
    { OIDC_ISSUER: 'https://id.test', OIDC_CLIENT_SECRET: 's' },
    /^OIDC_CLIENT_ID: is required with OIDC_ISSUER, OIDC_CLIENT_SECRET$/,
  ],
  [
    { OIDC_ISSUER: 'http://127.evil.test', OIDC_CLIENT_ID: 'c', OIDC_CLIENT_SECRET: 's' },
    /^OIDC_ISSUER: must be https/,
  ],
  [{ YOOKASSA_SECRET_KEY: 'k' }, /^YOOKASSA_SHOP_ID: is required/],
  [
    { YOOKASSA_SHOP_ID: '1', YOOKASSA_SECRET_KEY: 'k', YOOKASSA_API_URL: 'http://pay.test' },
    /^YOOKASSA_API_URL: must be https/,
  ],
  [
    { YOOKASSA_SHOP_ID: '1', YOOKASSA_SECRET_KEY: 'k', YOOKASSA_NETWORKS: 'everywhere' },
    /^YOOKASSA_NETWORKS: 'everywhere' is not an IP/,
  ],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }, /^OTEL_EXPORTER_OTLP_ENDPOINT: must be a URL such as http:/],
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_EXPORTER_OTLP_HEADERS: 'secret' },
    /^OTEL_EXPORTER_OTLP_HEADERS: must be a comma list of name=value, such as 'authorization=Basic%20abc'$/,
  ],
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_TRACES_SAMPLER_ARG: '1.5' },
    /^OTEL_TRACES_SAMPLER_ARG: must be a share from 0 to 1, got '1.5'$/,
  ],
  [{ TOLLGATE_ADMIN_TOTP: 'no' }, /^TOLLGATE_ADMIN_TOTP: must be one of/],
  [{ PORT: '65536' }, /^PORT: must be a whole number from 0 to 65535, got '65536'$/],
  [{ PORT: '80a' }, /^PORT: must be a whole number/],
  [{ HOST: 'a b' }, /^HOST: must be an IP address or a host name/],
  [{ DATABASE_URL: '' }, /^DATABASE_URL: is empty/],
  [{ DATABASE_URL: 'mysql://root:secret@db', TOLLGATE_KEK: KEK }, /^DATABASE_URL: must be a URL such as postgres:/],
  [{ DATABASE_URL: 'postgres://u:p@db/t' }, /^TOLLGATE_KEK: is required with DATABASE_URL/],
  [{ VALKEY_URL: 'http://x' }, /^VALKEY_URL: must be a URL such as redis:/],
  [{ TOLLGATE_CONFIG: ' ' }, /^TOLLGATE_CONFIG: is empty/],
  [{ TOLLGATE_ADMIN_TOKEN: 'short' }, /^TOLLGATE_ADMIN_TOKEN: has 5 characters, at least 32/],
  [{ TOLLGATE_ADMIN_TOKEN: 'x'.repeat(257) }, /at most 256/],
  [{ TOLLGATE_ADMIN_TOKEN: `${TOKEN} ${TOKEN}` }, /printable ASCII/],
  [{ TOLLGATE_ADMIN_TOKEN: `change-me-${TOKEN}` }, /is a placeholder/],
  [{ TOLLGATE_URL: 'localhost:8080' }, /^TOLLGATE_URL: must be a URL/],
  [{ TOLLGATE_PUBLIC_URL: 'https://a.test/?x=1' }, /^TOLLGATE_PUBLIC_URL: must be a plain address/],
  [{ TOLLGATE_CBR_URL: 'cbr.ru' }, /^TOLLGATE_CBR_URL: must be a URL such as https:/],
  [{ TOLLGATE_KEK: 'AAAA' }, /^TOLLGATE_KEK: must be base64 of 32 bytes/],
  [{ TOLLGATE_KEK: `${KEK},oops` }, /^TOLLGATE_KEK: must be base64 of 32 bytes/],
  [{ TOLLGATE_KEK: Buffer.alloc(32).toString('base64') }, /^TOLLGATE_KEK: is all zeros/],
  [{ TOLLGATE_WORKERS: '2' }, /^TOLLGATE_WORKERS: is 2, which needs DATABASE_URL/],
  [{ TOLLGATE_WORKERS: '0' }, /^TOLLGATE_WORKERS: must be a whole number from 1/],
  [{ TRUSTED_PROXIES: '10.0.0.0/33' }, /^TRUSTED_PROXIES: '10.0.0.0\/33' is not an IP address or a CIDR range/],
  [{ ALLOW_PRIVATE_UPSTREAMS: 'yes' }, /^ALLOW_PRIVATE_UPSTREAMS: must be true or false/],
  [{ TOLLGATE_LOG_LEVEL: 'trace' }, /^TOLLGATE_LOG_LEVEL: must be one of debug, info, warn, error/],
]

for (const [environment, expected] of REFUSED) {
  test(`refuses ${Object.keys(environment).join(' ')} with one line: ${expected.source}`, () => {
    const lines = problems(environment)
    assert.equal(lines.length, 1, lines.join('\n'))
    assert.match(lines[0] ?? '', expected)
  })
}

test('no problem repeats a secret', () => {
  const text = problems({
    DATABASE_URL: 'mysql://root:hunter2@db',
    TOLLGATE_ADMIN_TOKEN: 'hunter2',
    TOLLGATE_KEK: 'hunter2',
  }).join('\n')
  assert.equal(text.split('\n').length, 3)
  assert.doesNotMatch(text, /hunter2/)
})

test('the process environment wins over .env', () => {
  const merged = withEnvFile({ PORT: '1' }, 'PORT=2\nHOST="::1" # why\n')
  assert.deepEqual({ ...merged }, { PORT: '1', HOST: '::1' })
  assert.equal(withEnvFile(merged, null), merged)
})

test('mail and Telegram: half a set-up is refused, a login in the clear too, and no secret is repeated', () => {
  const { config } = readConfig({ SMTP_HOST: 'mail.example.com', SMTP_FROM: 'ai@example.com', SMTP_TLS: 'implicit' })
  assert.deepEqual([config.mail?.port, config.mail?.login, config.telegram], [465, null, null])
  assert.deepEqual(problems({ SMTP_HOST: 'mail.example.com' }), ['SMTP_FROM: is required with SMTP_HOST'])
  const mail = { SMTP_HOST: 'mail.example.com', SMTP_FROM: 'ai@example.com' }
  assert.deepEqual(problems({ ...mail, SMTP_PASSWORD: 'hunter2' }), ['SMTP_USER: is required with SMTP_PASSWORD'])
  assert.deepEqual(problems({ ...mail, SMTP_FROM: 'AI <ai@example.com>' }), [
    "SMTP_FROM: must be a plain address such as ai@example.com, got 'AI <ai@example.com>'",
  ])
  assert.match(
    problems({ ...mail, SMTP_TLS: 'none', SMTP_USER: 'ai', SMTP_PASSWORD: 'hunter2' }).join(),
    /^SMTP_TLS: is 'none', so the password would travel in the clear/,
  )
  assert.doesNotMatch(problems({ TELEGRAM_BOT_TOKEN: 'hunter2/..' }).join(), /hunter2/)
  assert.equal(
    problems({ TELEGRAM_BOT_TOKEN: `1:${'a'.repeat(35)}`, TELEGRAM_API_URL: 'http://bots.example.com' }).length,
    1,
  )
})

import type { VariableRows } from '../base/setting-reader.ts'

/** The networks that YooKassa publishes, since its notifications have no signature. */
const YOOKASSA_NETWORKS =
  '185.71.76.0/27,185.71.77.0/27,77.75.153.0/25,77.75.156.11,77.75.156.35,77.75.154.128/25,2a02:5180::/32'

const SERVER = {
  HOST: { kind: 'host', fallback: '127.0.0.1', meaning: 'address of the server' },
  PORT: {
    kind: 'whole',
    least: 0,
    most: 65_535,
    fallback: 8_080,
    meaning: 'port of the server; `0` takes a free one and prints it',
  },
  TOLLGATE_DATA: {
    kind: 'text',
    fallback: './data',
    value: 'a folder',
    meaning: 'the embedded store, the journal, stored files, and the wrapping key where `TOLLGATE_KEK` is not set',
  },
  TOLLGATE_CONFIG: {
    kind: 'text',
    value: 'a file',
    absent: '`./tollgate.yaml` if it exists',
    meaning:
      'the catalogue file, applied at the start and on SIGHUP when it has changed ([catalogue](docs/catalog.md))',
  },
  TOLLGATE_PUBLIC_URL: {
    kind: 'address',
    example: 'https://ai.example.com',
    absent: "from the request's `Host`",
    meaning:
      'address of the service, used in links; `https:` also turns on `Secure` cookies and `Strict-Transport-Security` for every request',
  },
  TRUSTED_PROXIES: {
    kind: 'networks',
    meaning:
      'your own proxies: their `X-Forwarded-For` and `X-Forwarded-Proto` are trusted, and their connections are not limited ([what one address may take](docs/operations.md#limits-of-one-address))',
  },
  ALLOW_PRIVATE_UPSTREAMS: {
    kind: 'flag',
    fallback: false,
    meaning: 'lets provider addresses set through the API or the console be private',
  },
  TOLLGATE_LOG_LEVEL: {
    kind: 'choice',
    options: ['debug', 'info', 'warn', 'error'],
    fallback: 'info',
    meaning: 'one JSON line a request, readable lines on a terminal',
  },
  TOLLGATE_LOG_RETENTION_DAYS: {
    kind: 'whole',
    least: 1,
    most: 36_500,
    fallback: null,
    absent: 'for ever',
    meaning: 'days that rows of the usage log are kept ([growth](docs/operations.md#growth))',
  },
  TOLLGATE_CBR_URL: {
    kind: 'url',
    protocols: ['http:', 'https:'],
    example: 'https://www.cbr.ru/scripts/XML_daily.asp',
    fallback: 'https://www.cbr.ru/scripts/XML_daily.asp',
    absent: "the Central Bank's",
    meaning: 'where `rates: { source: cbr }` reads',
  },
  TOLLGATE_PRICES_URL: {
    kind: 'url',
    protocols: ['http:', 'https:'],
    example: 'https://mirror.example/data.json',
    fallback: 'https://raw.githubusercontent.com/pydantic/genai-prices/refs/heads/main/prices/new_data/v2/data.json',
    absent: 'that of genai-prices',
    meaning: 'the price data set that [a new catalogue](docs/catalog.md#a-new-catalogue) comes from',
  },
  TOLLGATE_LIMITS_URL: {
    kind: 'url',
    protocols: ['http:', 'https:'],
    example: 'https://mirror.example/limits.json',
    fallback: 'https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json',
    absent: 'that of LiteLLM',
    meaning: 'the list of limits that it must agree with',
  },
} as const satisfies VariableRows

const NODES = {
  DATABASE_URL: {
    kind: 'url',
    secret: true,
    protocols: ['postgres:', 'postgresql:'],
    example: 'postgres://user@host:5432/name',
    meaning: 'PostgreSQL 15 or newer; absent = the embedded store',
  },
  VALKEY_URL: {
    kind: 'text',
    secret: true,
    value: '`redis://host:6379`, or `redis+cluster://host1:6379,host2:6379`',
    meaning:
      'Valkey or Redis for rate windows, IP blocks and streams that nodes share; absent = within each process ([several nodes](docs/operations.md#several-nodes))',
  },
  TOLLGATE_VALKEY_TIMEOUT_MS: {
    kind: 'whole',
    least: 1,
    most: 60_000,
    fallback: 50,
    meaning:
      'ms that a request waits for Valkey before its node decides by its own counts; raise it if Valkey is far away',
  },
  TOLLGATE_WORKERS: {
    kind: 'whole',
    least: 1,
    most: 1_024,
    fallback: 1,
    meaning: 'processes on this machine; more than one needs `DATABASE_URL`',
  },
  TOLLGATE_KEK: {
    kind: 'text',
    secret: true,
    value: 'base64 of 32 bytes, or a comma list of such',
    absent: 'made in `TOLLGATE_DATA`; required with `DATABASE_URL`',
    meaning: 'wraps the credentials of providers; a list is for rotation, its first wraps',
  },
} as const satisfies VariableRows

const ACCESS = {
  TOLLGATE_ADMIN_TOKEN: {
    kind: 'text',
    secret: true,
    value: '32 to 256 printable characters',
    absent: 'console administrators only',
    meaning:
      'opens the admin API to scripts, and is what the commands of the admin API send; there it may be a named token',
  },
  TOLLGATE_ADMIN_TOTP: {
    kind: 'choice',
    options: ['required', 'optional'],
    fallback: null,
    absent: '`required` with `DATABASE_URL` or `TOLLGATE_PUBLIC_URL`, else `optional`',
    meaning: 'whether administrators must use two-step sign-in',
  },
  TOLLGATE_URL: {
    kind: 'address',
    example: 'http://127.0.0.1:8080',
    fallback: 'http://127.0.0.1:8080',
    meaning: 'the server that `tollgate account`, `key`, `topup` and the other commands of the admin API speak to',
  },
  TOLLGATE_API_KEY: {
    kind: 'text',
    secret: true,
    value: 'an API key',
    meaning: 'the key that `tollgate launch` gives to a client, where `--key` is not given',
  },
  OIDC_ISSUER: {
    kind: 'url',
    protocols: ['http:', 'https:'],
    example: 'https://accounts.example.com',
    meaning: 'single sign-on of the console; set all three or none; `http:` only on loopback',
  },
  OIDC_CLIENT_ID: { kind: 'text', meaning: 'this service there' },
  OIDC_CLIENT_SECRET: { kind: 'text', secret: true, meaning: 'its secret' },
  OIDC_NAME: { kind: 'text', fallback: 'Single sign-on', meaning: 'the text of its button' },
} as const satisfies VariableRows

const MESSAGES = {
  SMTP_HOST: {
    kind: 'host',
    meaning:
      'the server that takes our mail; set together with `SMTP_FROM` ([e-mail](docs/notifications.md#e-mail-and-telegram))',
  },
  SMTP_FROM: { kind: 'text', value: '`ai@example.com`', meaning: 'the address that mail comes from' },
  SMTP_FROM_NAME: { kind: 'text', fallback: 'Tollgate', meaning: 'the name beside the address' },
  SMTP_TLS: {
    kind: 'choice',
    options: ['starttls', 'implicit', 'none'],
    fallback: 'starttls',
    meaning:
      '`starttls`: no mail without it; `implicit`: TLS from the first byte; `none`: in the clear, and with a login only on loopback',
  },
  SMTP_PORT: {
    kind: 'whole',
    least: 1,
    most: 65_535,
    fallback: null,
    absent: '`587`; `465` with `implicit`, `25` with `none`',
    meaning: 'its port',
  },
  SMTP_USER: { kind: 'text', meaning: 'the login there; set both or none' },
  SMTP_PASSWORD: { kind: 'text', secret: true, meaning: 'its password' },
  TELEGRAM_BOT_TOKEN: {
    kind: 'text',
    secret: true,
    value: 'a token as BotFather gives it',
    meaning: 'the bot that sends notices',
  },
  TELEGRAM_API_URL: {
    kind: 'address',
    example: 'https://api.telegram.org',
    fallback: 'https://api.telegram.org',
    meaning: 'address of its API; `http:` only on loopback',
  },
} as const satisfies VariableRows

const PAYMENTS = {
  YOOKASSA_SHOP_ID: { kind: 'text', meaning: 'payments through YooKassa; set both or none' },
  YOOKASSA_SECRET_KEY: { kind: 'text', secret: true, meaning: 'its secret key' },
  YOOKASSA_API_URL: {
    kind: 'address',
    example: 'https://api.yookassa.ru/v3',
    fallback: 'https://api.yookassa.ru/v3',
    meaning: 'address of its API; `http:` only on loopback',
  },
  YOOKASSA_NETWORKS: {
    kind: 'networks',
    fallback: YOOKASSA_NETWORKS,
    absent: 'as YooKassa publishes them',
    meaning: 'where its notifications come from',
  },
} as const satisfies VariableRows

const TELEMETRY = {
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    kind: 'address',
    example: 'http://127.0.0.1:4318',
    meaning:
      'a collector that takes OTLP over HTTP, without `/v1/traces` and `/v1/metrics` ([traces and metrics](docs/operations.md#traces-and-metrics))',
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    kind: 'text',
    secret: true,
    value: '`name=value,name=value`, percent-encoded',
    meaning: 'headers for it',
  },
  OTEL_SERVICE_NAME: { kind: 'text', fallback: 'tollgate', meaning: 'name of the service in traces and metrics' },
  OTEL_TRACES_SAMPLER_ARG: {
    kind: 'text',
    fallback: '1',
    value: '`0` to `1`',
    meaning: 'share of requests that are traced',
  },
  OTEL_METRICS_EXPORTER: {
    kind: 'choice',
    options: ['otlp', 'none'],
    fallback: 'otlp',
    meaning: '`none`: no metrics are sent',
  },
  OTEL_METRIC_EXPORT_INTERVAL: {
    kind: 'whole',
    least: 100,
    most: 3_600_000,
    fallback: 60_000,
    meaning: 'milliseconds between two sendings of metrics',
  },
} as const satisfies VariableRows

/** A row for each variable that the process reads, by the heading of its table in docs/settings.md. */
export const VARIABLE_SECTIONS: Readonly<Record<string, VariableRows>> = {
  Server: SERVER,
  'Store and nodes': NODES,
  Access: ACCESS,
  'Mail and Telegram': MESSAGES,
  Payments: PAYMENTS,
  'Traces and metrics': TELEMETRY,
}

export const VARIABLES = { ...SERVER, ...NODES, ...ACCESS, ...MESSAGES, ...PAYMENTS, ...TELEMETRY } as const
export type Variable = keyof typeof VARIABLES

/** A variable that Node, the C library or a package reads and that changes what the process does. */
export interface ForeignVariable {
  readonly names: readonly string[]
  readonly value: string
  readonly absent: string
  readonly meaning: string
}

/** In the order of docs/settings.md. test/long/api/foreign-environment.test.ts tries each of them. */
export const FOREIGN_VARIABLES = [
  {
    names: ['PGHOST', 'PGPORT', 'PGDATABASE', 'PGUSER'],
    value: 'as for `psql`',
    absent: '–',
    meaning: 'the parts that `DATABASE_URL` leaves out',
  },
  {
    names: ['PGPASSWORD', 'PGPASSFILE'],
    value: 'a password; a file as for `psql`',
    absent: '`~/.pgpass`',
    meaning: 'the password where `DATABASE_URL` has none',
  },
  {
    names: ['PGSSLMODE'],
    value: '`disable`, `require`, `verify-full`, `no-verify`',
    absent: '`disable`',
    meaning:
      'TLS to PostgreSQL where `DATABASE_URL` has no `sslmode`; all but `disable` and `no-verify` check the certificate',
  },
  {
    names: ['PGAPPNAME'],
    value: 'a text',
    absent: '–',
    meaning: 'name of the connections in `pg_stat_activity`',
  },
  {
    names: ['NODE_EXTRA_CA_CERTS'],
    value: 'a file of certificates (PEM)',
    absent: '–',
    meaning:
      'authorities that are trusted beside those of Node: for providers, databases, mail, sign-on and the collector',
  },
  {
    names: ['NODE_USE_SYSTEM_CA'],
    value: '`1`',
    absent: '–',
    meaning:
      'trusts the authorities of the system too; `SSL_CERT_FILE` and `SSL_CERT_DIR` say where they are, and alone do nothing',
  },
  {
    names: ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'],
    value: '–',
    absent: '–',
    meaning: 'not used, also with `NODE_USE_ENV_PROXY`: providers are called directly',
  },
  {
    names: ['OTEL_EXPORTER_OTLP_COMPRESSION', 'OTEL_EXPORTER_OTLP_TIMEOUT', 'OTEL_EXPORTER_OTLP_CERTIFICATE'],
    value: '`gzip`; milliseconds; a file',
    absent: '`none`; `10000`; –',
    meaning: 'of traces alone; an authority for both traces and metrics belongs in `NODE_EXTRA_CA_CERTS`',
  },
  {
    names: ['NODE_OPTIONS'],
    value: "Node's options",
    absent: '–',
    meaning: 'memory and debugging; workers inherit it ([one node](docs/operations.md#one-node))',
  },
  {
    names: ['UV_THREADPOOL_SIZE'],
    value: '`1` to `1024`',
    absent: '`4`',
    meaning: 'threads for files, names of hosts and passwords',
  },
  {
    names: ['MALLOC_ARENA_MAX', 'MALLOC_MMAP_THRESHOLD_', 'MALLOC_TRIM_THRESHOLD_'],
    value: 'as for glibc',
    absent: '`2`, `131072`, `131072`',
    meaning: 'memory of large bodies goes back to the system ([one node](docs/operations.md#one-node))',
  },
  {
    names: ['TZ'],
    value: 'such as `Europe/Moscow`',
    absent: "the system's",
    meaning: 'times of the lines on a terminal; days and months are those of the setting `timezone`',
  },
] as const satisfies readonly ForeignVariable[]

import { isIP } from 'node:net'
import { parseEnv } from 'node:util'
import { proxyList } from './http/client-ip.ts'
import { parseWrappingKeys } from './ledger/key-wrap.ts'
import { isMailAddress } from './lib/mail-address.ts'
import { valkeyAddress } from './lib/valkey-address.ts'
import { SettingReader, type Environment } from './lib/setting-reader.ts'
import { ownValue } from './lib/own-value.ts'

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Settings of the process (operator.md 2), checked once at the start and never read again. */
export interface Config {
  readonly host: string
  /** 0 = any free port. */
  readonly port: number
  readonly dataDir: string
  /** null = the embedded store. */
  readonly databaseUrl: string | null
  /** null = each process keeps its own short-lived counters and streams. */
  readonly valkeyUrl: string | null
  /** How long a request waits for an answer of Valkey, ms. */
  readonly valkeyTimeoutMs: number
  /** Processes of this server on this machine. */
  readonly workers: number
  /** null = `./tollgate.yaml` if it is there. */
  readonly configFile: string | null
  /** null = only console administrators have access. */
  readonly adminToken: string | null
  /** The server that command-line clients ask, without a trailing slash. */
  readonly url: string
  /** 32 bytes each; the first one wraps. null = a key made in `dataDir`. */
  readonly kek: readonly Buffer[] | null
  /** Without a trailing slash; null = from the request's Host. */
  readonly publicUrl: string | null
  /** Addresses and CIDR ranges, each valid. */
  readonly trustedProxies: readonly string[]
  readonly allowPrivateUpstreams: boolean
  /** The address of the daily rates for `rates: { source: cbr }`. */
  readonly cbrUrl: string
  readonly logLevel: LogLevel
  /** How long rows of the usage log are kept; null = for ever. */
  readonly logRetentionDays: number | null
  /**
   * Administrators must use two-step sign-in; the default is true wherever the console is reachable from other
   * machines.
   */
  readonly adminTotpRequired: boolean
  /** null = nothing is sent to a collector. */
  readonly traces: TracesConfig | null
  readonly oidc: OidcConfig | null
  readonly yookassa: YookassaConfig | null
  /** null = no mail is sent. */
  readonly mail: MailConfig | null
  /** null = nothing is sent through Telegram. */
  readonly telegram: TelegramConfig | null
}

/** The server that takes our mail. */
export interface MailConfig {
  readonly host: string
  readonly port: number
  /** `starttls`: refused without it; `implicit`: from the first byte; `none`: in the clear. */
  readonly tls: 'starttls' | 'implicit' | 'none'
  /** null = without signing in. */
  readonly login: { readonly user: string; readonly password: string } | null
  /** The address that mail comes from. */
  readonly from: string
  /** The name beside it. */
  readonly fromName: string
}

/** The operator's bot. */
export interface TelegramConfig {
  readonly botToken: string
  readonly apiUrl: string
}

/** Single sign-on of the console. */
export interface OidcConfig {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** The text of its button. */
  readonly name: string
}

/** Traces and metrics over OTLP. */
export interface TracesConfig {
  /** The collector's address, without `/v1/traces` or `/v1/metrics`. */
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
  readonly serviceName: string
  /** The part of the requests that is traced, 0 to 1. */
  readonly ratio: number
  /** How often metrics are sent; null = never. */
  readonly metricsIntervalMs: number | null
}

/** Payments through YooKassa. */
export interface YookassaConfig {
  readonly shopId: string
  readonly secretKey: string
  readonly apiUrl: string
  /** The addresses from which its notifications come. */
  readonly networks: readonly string[]
}

/** Names with this prefix are ours; an unknown one is a typing mistake. */
const OWN_PREFIX = 'TOLLGATE_'
const TOKEN_CHARACTERS_MIN = 32
const TOKEN_CHARACTERS_MAX = 256
const CBR_URL = 'https://www.cbr.ru/scripts/XML_daily.asp'
const PROXIES_MAX = 1_000
const VALKEY_TIMEOUT_MS_MAX = 60_000
const WORKERS_MAX = 1_024
const TELEGRAM_API = 'https://api.telegram.org'
const SMTP_PORTS = { starttls: 587, implicit: 465, none: 25 } as const
const YOOKASSA_API = 'https://api.yookassa.ru/v3'
/** Published by YooKassa; its notifications carry no signature. */
const YOOKASSA_NETWORKS =
  '185.71.76.0/27,185.71.77.0/27,77.75.153.0/25,77.75.156.11,77.75.156.35,77.75.154.128/25,2a02:5180::/32'
/** A value copied from a guide and never changed is as public as no token. */
const PLACEHOLDER = /change[-_ ]?me|replace[-_ ]?me|your[-_]|placeholder/i

/** Settings that hold a secret; each may be given as a file, whose path stands in the variable with `_FILE` behind. */
const SECRET_SETTINGS: ReadonlySet<string> = new Set([
  'DATABASE_URL',
  'VALKEY_URL',
  'TOLLGATE_ADMIN_TOKEN',
  'TOLLGATE_KEK',
  'OIDC_CLIENT_SECRET',
  'YOOKASSA_SECRET_KEY',
  'SMTP_PASSWORD',
  'TELEGRAM_BOT_TOKEN',
  'OTEL_EXPORTER_OTLP_HEADERS',
])
/** Keys of providers, of which the catalogue file may name any. */
const API_KEY = /^[A-Z0-9_]+_API_KEY$/
const FILE_SUFFIX = '_FILE'

/** The setting whose value a variable says the file of; null = it is no such variable. */
function settingOfFile(name: string): string | null {
  const setting = name.slice(0, -FILE_SUFFIX.length)
  return name.endsWith(FILE_SUFFIX) && (SECRET_SETTINGS.has(setting) || API_KEY.test(setting)) ? setting : null
}

/**
 * The environment with the secrets that stand in files, as container engines hand them over: `NAME_FILE` becomes
 * `NAME`. `read` answers the text of a file. Where both are set, both stay, and `readConfig` refuses that.
 */
export function withSecretFiles(environment: Environment, read: (name: string, path: string) => string): Environment {
  const filled: Record<string, string | undefined> = { ...environment }
  for (const [name, path] of Object.entries(environment)) {
    const setting = settingOfFile(name)
    if (setting === null || path === undefined || ownValue(environment, setting) !== undefined) continue
    filled[setting] = read(name, path).trim()
    delete filled[name]
  }
  return filled
}

/** Variables of the process take precedence over `.env`: they were set for this start. */
export function withEnvFile(environment: Environment, fileText: string | null): Environment {
  return fileText === null ? environment : { ...parseEnv(fileText), ...environment }
}

/**
 * Reads every setting. `problems` has a clear line for each unusable value; it names the variable, never its secret.
 * `unknown` has a line for each name with our prefix that is not a setting.
 */
export function readConfig(environment: Environment): {
  readonly config: Config
  readonly problems: readonly string[]
  readonly unknown: readonly string[]
} {
  const reader = new SettingReader(environment)
  const databaseUrl = reader.url('DATABASE_URL', ['postgres:', 'postgresql:'], 'postgres://user@host:5432/name')
  const config: Config = Object.freeze({
    host: reader.host('HOST', '127.0.0.1'),
    port: reader.whole('PORT', 8_080, 0, 65_535),
    dataDir: reader.text('TOLLGATE_DATA') ?? './data',
    databaseUrl,
    valkeyUrl: readValkeyUrl(reader),
    valkeyTimeoutMs: reader.whole('TOLLGATE_VALKEY_TIMEOUT_MS', 50, 1, VALKEY_TIMEOUT_MS_MAX),
    workers: readWorkers(reader, databaseUrl !== null),
    configFile: reader.text('TOLLGATE_CONFIG'),
    adminToken: readAdminToken(reader),
    url: reader.address('TOLLGATE_URL', 'http://127.0.0.1:8080') ?? 'http://127.0.0.1:8080',
    kek: readKek(reader, databaseUrl !== null),
    publicUrl: reader.address('TOLLGATE_PUBLIC_URL', 'https://ai.example.com'),
    trustedProxies: readProxies(reader),
    allowPrivateUpstreams: reader.flag('ALLOW_PRIVATE_UPSTREAMS', false),
    cbrUrl: reader.url('TOLLGATE_CBR_URL', ['http:', 'https:'], CBR_URL) ?? CBR_URL,
    logLevel: reader.oneOf('TOLLGATE_LOG_LEVEL', LOG_LEVELS, 'info'),
    logRetentionDays: reader.given('TOLLGATE_LOG_RETENTION_DAYS')
      ? reader.whole('TOLLGATE_LOG_RETENTION_DAYS', 1, 1, 36_500)
      : null,
    adminTotpRequired: readAdminTotp(reader, databaseUrl !== null),
    traces: readTraces(reader),
    oidc: readOidc(reader),
    yookassa: readYookassa(reader),
    mail: readMail(reader),
    telegram: readTelegram(reader),
  })
  const twice = Object.keys(environment).filter((name) => settingOfFile(name) !== null && reader.given(name))
  for (const name of twice) reader.problem(name, `is set beside ${settingOfFile(name)}: unset one of them`)
  return { config, problems: reader.problems, unknown: reader.unknown(OWN_PREFIX) }
}

function readValkeyUrl(reader: SettingReader): string | null {
  const url = reader.text('VALKEY_URL')
  // It may hold a password.
  if (url !== null && valkeyAddress(url) === null)
    reader.problem(
      'VALKEY_URL',
      'must be a URL such as redis://host:6379, or redis+cluster://host1:6379,host2:6379 for a cluster',
    )
  return url
}

function readWorkers(reader: SettingReader, shared: boolean): number {
  const workers = reader.whole('TOLLGATE_WORKERS', 1, 1, WORKERS_MAX)
  if (workers > 1 && !shared)
    reader.problem('TOLLGATE_WORKERS', `is ${workers}, which needs DATABASE_URL: the embedded store has one process`)
  return workers
}

function readAdminToken(reader: SettingReader): string | null {
  const token = reader.text('TOLLGATE_ADMIN_TOKEN')
  if (token === null) return null
  // The message never repeats the value, since it ends up in logs.
  if (token.length < TOKEN_CHARACTERS_MIN)
    reader.problem(
      'TOLLGATE_ADMIN_TOKEN',
      `has ${token.length} characters, at least ${TOKEN_CHARACTERS_MIN} are needed: make one with 'openssl rand -hex 32'`,
    )
  else if (token.length > TOKEN_CHARACTERS_MAX)
    reader.problem(
      'TOLLGATE_ADMIN_TOKEN',
      `has ${token.length} characters, at most ${TOKEN_CHARACTERS_MAX} are allowed`,
    )
  else if (!/^[\x21-\x7e]+$/.test(token))
    reader.problem(
      'TOLLGATE_ADMIN_TOKEN',
      'may hold printable ASCII characters only, without spaces: it travels in a header',
    )
  else if (PLACEHOLDER.test(token))
    reader.problem('TOLLGATE_ADMIN_TOKEN', "is a placeholder: make one with 'openssl rand -hex 32'")
  return token
}

function readKek(reader: SettingReader, required: boolean): readonly Buffer[] | null {
  const name = 'TOLLGATE_KEK'
  const text = reader.text(name)
  if (text === null) {
    if (required && !reader.given(name))
      reader.problem(
        name,
        "is required with DATABASE_URL, where every node must hold the same key: make one with 'openssl rand -base64 32'",
      )
    return null
  }
  const keys = parseWrappingKeys(text)
  if (keys === null)
    reader.problem(name, "must be base64 of 32 bytes, or a comma list of such: make one with 'openssl rand -base64 32'")
  else if (keys.some((key) => key.every((byte) => byte === 0)))
    reader.problem(name, "is all zeros: make one with 'openssl rand -base64 32'")
  return keys
}

function readAdminTotp(reader: SettingReader, several: boolean): boolean {
  const publicUrl = reader.given('TOLLGATE_PUBLIC_URL')
  return (
    reader.oneOf('TOLLGATE_ADMIN_TOTP', ['required', 'optional'], several || publicUrl ? 'required' : 'optional') ===
    'required'
  )
}

/** Either all of these are set or none: half a set-up is a mistake. */
function together(reader: SettingReader, names: readonly string[]): boolean {
  const given = names.filter((name) => reader.given(name))
  if (given.length > 0)
    for (const name of names) if (!reader.given(name)) reader.problem(name, `is required with ${given.join(', ')}`)
  return given.length === names.length
}

function readOidc(reader: SettingReader): OidcConfig | null {
  if (!together(reader, ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'])) return null
  const issuer = reader.url('OIDC_ISSUER', ['http:', 'https:'], 'https://accounts.example.com') ?? ''
  if (URL.canParse(issuer) && new URL(issuer).protocol === 'http:' && !isLoopback(new URL(issuer).hostname))
    reader.problem('OIDC_ISSUER', 'must be https: on plain http anybody between could sign in as anyone')
  return Object.freeze({
    issuer,
    clientId: reader.text('OIDC_CLIENT_ID') ?? '',
    clientSecret: reader.text('OIDC_CLIENT_SECRET') ?? '',
    name: reader.text('OIDC_NAME') ?? 'Single sign-on',
  })
}

function readTraces(reader: SettingReader): TracesConfig | null {
  const endpoint = reader.address('OTEL_EXPORTER_OTLP_ENDPOINT', 'http://127.0.0.1:4318')
  if (endpoint === null) return null
  const share = reader.text('OTEL_TRACES_SAMPLER_ARG') ?? '1'
  if (!/^(?:0(?:\.\d+)?|1(?:\.0+)?)$/.test(share))
    reader.problem('OTEL_TRACES_SAMPLER_ARG', `must be a share from 0 to 1, got '${share}'`)
  return Object.freeze({
    endpoint,
    headers: readHeaders(reader, 'OTEL_EXPORTER_OTLP_HEADERS'),
    serviceName: reader.text('OTEL_SERVICE_NAME') ?? 'tollgate',
    ratio: Number(share),
    metricsIntervalMs:
      reader.oneOf('OTEL_METRICS_EXPORTER', ['otlp', 'none'], 'otlp') === 'none'
        ? null
        : reader.whole('OTEL_METRIC_EXPORT_INTERVAL', 60_000, 100, 3_600_000),
  })
}

/**
 * `name=value,name=value`, percent-encoded, as OpenTelemetry writes it. A value may be a secret and is not repeated.
 */
function readHeaders(reader: SettingReader, name: string): Readonly<Record<string, string>> {
  const pairs = (reader.text(name) ?? '')
    .split(',')
    .filter((pair) => pair.trim() !== '')
    .map((pair) => /^\s*([\w.-]+)\s*=(.*)$/.exec(pair))
  if (pairs.includes(null))
    reader.problem(name, "must be a comma list of name=value, such as 'authorization=Basic%20abc'")
  return Object.freeze(
    Object.fromEntries(
      pairs.flatMap((pair) => (pair === null ? [] : [[(pair[1] ?? '').toLowerCase(), decoded(pair[2] ?? '')]])),
    ),
  )
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.trim())
  } catch {
    return text.trim()
  }
}

function readYookassa(reader: SettingReader): YookassaConfig | null {
  if (!together(reader, ['YOOKASSA_SHOP_ID', 'YOOKASSA_SECRET_KEY'])) return null
  const apiUrl = reader.address('YOOKASSA_API_URL', YOOKASSA_API) ?? YOOKASSA_API
  if (URL.canParse(apiUrl) && new URL(apiUrl).protocol === 'http:' && !isLoopback(new URL(apiUrl).hostname))
    reader.problem('YOOKASSA_API_URL', 'must be https: the secret key travels there')
  return Object.freeze({
    shopId: reader.text('YOOKASSA_SHOP_ID') ?? '',
    secretKey: reader.text('YOOKASSA_SECRET_KEY') ?? '',
    apiUrl,
    networks: readNetworks(reader, 'YOOKASSA_NETWORKS', YOOKASSA_NETWORKS),
  })
}

function readMail(reader: SettingReader): MailConfig | null {
  const names = ['SMTP_PORT', 'SMTP_TLS', 'SMTP_USER', 'SMTP_PASSWORD', 'SMTP_FROM_NAME'].filter((name) =>
    reader.given(name),
  )
  if (![...names, 'SMTP_HOST', 'SMTP_FROM'].some((name) => reader.given(name))) return null
  if (!together(reader, ['SMTP_HOST', 'SMTP_FROM', ...names])) return null
  const tls = reader.oneOf('SMTP_TLS', ['starttls', 'implicit', 'none'], 'starttls')
  const host = reader.host('SMTP_HOST', '')
  const from = reader.text('SMTP_FROM') ?? ''
  if (!isMailAddress(from)) reader.problem('SMTP_FROM', `must be a plain address such as ai@example.com, got '${from}'`)
  const withLogin = ['SMTP_USER', 'SMTP_PASSWORD'].some((name) => reader.given(name))
  const login = withLogin && together(reader, ['SMTP_USER', 'SMTP_PASSWORD'])
  if (login && tls === 'none' && !isLoopback(host))
    reader.problem('SMTP_TLS', "is 'none', so the password would travel in the clear: use 'starttls' or 'implicit'")
  return Object.freeze({
    host,
    port: reader.whole('SMTP_PORT', SMTP_PORTS[tls], 1, 65_535),
    tls,
    login: login ? { user: reader.text('SMTP_USER') ?? '', password: reader.text('SMTP_PASSWORD') ?? '' } : null,
    from,
    fromName: reader.text('SMTP_FROM_NAME') ?? 'Tollgate',
  })
}

function readTelegram(reader: SettingReader): TelegramConfig | null {
  const botToken = reader.text('TELEGRAM_BOT_TOKEN')
  const apiUrl = reader.address('TELEGRAM_API_URL', TELEGRAM_API) ?? TELEGRAM_API
  if (botToken === null) return null
  // It becomes a part of a path. The message never repeats it.
  if (!/^\d{1,20}:[\w-]{20,100}$/.test(botToken))
    reader.problem('TELEGRAM_BOT_TOKEN', 'must be a token as BotFather gives it, such as 123456:ABC-DEF…')
  if (URL.canParse(apiUrl) && new URL(apiUrl).protocol === 'http:' && !isLoopback(new URL(apiUrl).hostname))
    reader.problem('TELEGRAM_API_URL', 'must be https: the token travels there')
  return Object.freeze({ botToken, apiUrl })
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.'))
}

function readProxies(reader: SettingReader): readonly string[] {
  return readNetworks(reader, 'TRUSTED_PROXIES', '')
}

function readNetworks(reader: SettingReader, name: string, fallback: string): readonly string[] {
  const entries = (reader.text(name) ?? fallback)
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
  if (entries.length > PROXIES_MAX)
    reader.problem(name, `lists ${entries.length} ranges, at most ${PROXIES_MAX} are allowed`)
  for (const entry of entries) {
    try {
      proxyList([entry])
    } catch {
      // The list's error only says that it is not a range; the line below adds the setting's name.
      reader.problem(name, `'${entry}' is not an IP address or a CIDR range such as 10.0.0.0/8`)
    }
  }
  return Object.freeze(entries)
}

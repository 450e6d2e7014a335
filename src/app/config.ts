import { closeSync, openSync, readSync } from 'node:fs'
import { isIP } from 'node:net'
import { parseEnv } from 'node:util'
import type { PaymentConfig } from '../api/cabinet/payments.ts'
import type { SignOnConfig } from '../api/cabinet/people.ts'
import { isMailAddress } from '../base/mail-address.ts'
import { ownValue } from '../base/own-value.ts'
import { type Environment, FILE_SUFFIX, SettingReader, type VariableRow, problemLine } from '../base/setting-reader.ts'
import { thrownMessage } from '../base/text.ts'
import { valkeyAddress } from '../base/valkey-address.ts'
import { isIpRange } from '../http/client-ip.ts'
import { parseWrappingKeys } from '../ledger/key-wrap.ts'
import type { MailConfig, TelegramConfig } from '../notices/way.ts'
import { diskFault } from '../store/sqlite/disk-fault.ts'
import { VARIABLES, type Variable } from '../tables/environment-table.ts'

/** Names with this prefix are ours; an unknown one is a typing mistake. */
const OWN_PREFIX = 'TOLLGATE_'
/** Names with these prefixes are ours too if at least one setting with the prefix is set. */
const FAMILIES = ['OIDC_', 'SMTP_', 'TELEGRAM_', 'YOOKASSA_']
const TOKEN_CHARACTERS_MIN = 32
const TOKEN_CHARACTERS_MAX = 256
const PROXIES_MAX = 1_000
const SMTP_PORTS = { starttls: 587, implicit: 465, none: 25 } as const
/** A value copied from a guide and never changed is as public as no token at all. */
const PLACEHOLDER = /change[-_ ]?me|replace[-_ ]?me|your[-_]|placeholder/i
/** Keys of providers, of which the catalogue file may name any. */
const API_KEY = /^[A-Z0-9_]+_API_KEY$/

type Reader = SettingReader<typeof VARIABLES>

/** The name of the secret whose file a variable names; null = the variable names no file of a secret. */
function secretOfFile(name: string): string | null {
  if (!name.endsWith(FILE_SUFFIX)) return null
  const secret = name.slice(0, -FILE_SUFFIX.length)
  return ownValue<VariableRow>(VARIABLES, secret)?.secret === true || API_KEY.test(secret) ? secret : null
}

/** The text of a file, or why it cannot be read, as the end of a sentence about the file. */
export type ReadFile = (path: string) => { readonly text: string } | { readonly problem: string }

/**
 * The environment with the secrets that are in files, as container engines provide them: for `NAME_FILE` it also has
 * `NAME`. `problems` has a line for each file that gives none.
 */
export function withSecretFiles(
  environment: Environment,
  read: ReadFile,
): { readonly env: Environment; readonly problems: readonly string[] } {
  const env: Record<string, string | undefined> = { ...environment }
  const problems: string[] = []
  for (const [name, path = ''] of Object.entries(environment)) {
    const secret = secretOfFile(name)
    if (secret === null) continue
    if (ownValue(environment, secret) !== undefined)
      problems.push(problemLine(name, `is set beside ${secret}: unset one of them`))
    else if (path.trim() === '') problems.push(problemLine(name, 'is empty: give it the path of a file or unset it'))
    else {
      const found = read(path.trim())
      if ('problem' in found) problems.push(problemLine(name, `${path.trim()} ${found.problem}`))
      else if (found.text.trim() === '') problems.push(problemLine(name, `${path.trim()} is empty`))
      else env[secret] = found.text.trim()
    }
  }
  return { env, problems }
}

/** Variables of the process take precedence over `.env`: they were set for this start. */
export function withEnvFile(environment: Environment, fileText: string | null): Environment {
  return fileText === null ? environment : { ...parseEnv(fileText), ...environment }
}

/**
 * Reads every setting. `problems` has a clear line for each unusable value; it names the variable, never its secret.
 * `unknown` has a line for each name that is probably a setting mistyped.
 */
export function readConfig(environment: Environment): {
  readonly config: Config
  readonly problems: readonly string[]
  readonly unknown: readonly string[]
} {
  const reader = new SettingReader(environment, VARIABLES)
  const config = Object.freeze(configOf(reader))
  return { config, problems: reader.problems, unknown: reader.unknown(OWN_PREFIX, FAMILIES) }
}

/** Settings of the process (operator.md 2), checked once at the start and never read again. */
export type Config = Readonly<ReturnType<typeof configOf>>

function configOf(reader: Reader) {
  const databaseUrl = reader.url('DATABASE_URL')
  const isShared = databaseUrl !== null
  return {
    host: reader.host('HOST'),
    /** 0 = any free port. */
    port: reader.whole('PORT'),
    dataDir: reader.text('TOLLGATE_DATA'),
    /** null = the embedded store. */
    databaseUrl,
    /** null = each process keeps its own short-lived counters and streams. */
    valkeyUrl: readValkeyUrl(reader),
    valkeyTimeoutMs: reader.whole('TOLLGATE_VALKEY_TIMEOUT_MS'),
    workers: readWorkers(reader),
    /** null = `./tollgate.yaml` if that file exists. */
    configFile: reader.text('TOLLGATE_CONFIG'),
    /** null = only administrators of the console have access. */
    adminToken: readAdminToken(reader),
    /** The server that command-line clients ask, without a trailing slash. */
    url: reader.address('TOLLGATE_URL'),
    /** The key that `launch` gives to a client. */
    apiKey: reader.text('TOLLGATE_API_KEY'),
    /** 32 bytes each; the first one wraps. null = a key made in `dataDir`. */
    kek: readKek(reader, isShared),
    /** Without a trailing slash; null = from the request's Host. */
    publicUrl: reader.address('TOLLGATE_PUBLIC_URL'),
    trustedProxies: readNetworks(reader, 'TRUSTED_PROXIES'),
    allowPrivateUpstreams: reader.flag('ALLOW_PRIVATE_UPSTREAMS'),
    cbrUrl: reader.url('TOLLGATE_CBR_URL'),
    dataSet: { prices: reader.url('TOLLGATE_PRICES_URL'), limits: reader.url('TOLLGATE_LIMITS_URL') },
    logLevel: reader.choice('TOLLGATE_LOG_LEVEL'),
    /** null = rows of the usage log are kept for ever. */
    logRetentionDays: reader.whole('TOLLGATE_LOG_RETENTION_DAYS'),
    /** By default wherever the console is reachable from other machines. */
    adminTotpRequired: readAdminTotp(reader, isShared),
    traces: readTraces(reader),
    oidc: readOidc(reader),
    yookassa: readYookassa(reader),
    mail: readMail(reader),
    telegram: readTelegram(reader),
  }
}

/** Whether a line of the problems is about this setting or its file. */
export function isProblemOf(line: string, name: Variable): boolean {
  return line.startsWith(`${name}: `) || line.startsWith(`${name}${FILE_SUFFIX}: `)
}

function readValkeyUrl(reader: Reader): string | null {
  const url = reader.text('VALKEY_URL')
  // The address may hold a password, so the message does not repeat it.
  if (url !== null && valkeyAddress(url) === null)
    reader.problem(
      'VALKEY_URL',
      'must be a URL such as redis://host:6379, or redis+cluster://host1:6379,host2:6379 for a cluster',
    )
  return url
}

function readWorkers(reader: Reader): number {
  const workers = reader.whole('TOLLGATE_WORKERS')
  if (workers > 1 && !reader.given('DATABASE_URL'))
    reader.problem('TOLLGATE_WORKERS', `is ${workers}, which needs DATABASE_URL: the embedded store has one process`)
  return workers
}

function readAdminToken(reader: Reader): string | null {
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

function readKek(reader: Reader, isRequired: boolean): readonly Buffer[] | null {
  const name = 'TOLLGATE_KEK'
  const text = reader.text(name)
  if (text === null) {
    if (isRequired && !reader.given(name))
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

function readAdminTotp(reader: Reader, isShared: boolean): boolean {
  const isOpen = isShared || reader.given('TOLLGATE_PUBLIC_URL')
  return (reader.choice('TOLLGATE_ADMIN_TOTP') ?? (isOpen ? 'required' : 'optional')) === 'required'
}

/** Reports names of the group that are missing while others are set: half a set-up is a mistake. true = all are set. */
function together(reader: Reader, names: readonly Variable[]): boolean {
  const given = names.filter((name) => reader.given(name))
  if (given.length > 0)
    for (const name of names) if (!reader.given(name)) reader.problem(name, `is required with ${given.join(', ')}`)
  return given.length === names.length
}

/** Reports an `http` address that is not this machine's, since a secret would travel to it unencrypted. */
function refuseClear(reader: Reader, name: Variable, address: string, why: string): void {
  if (!URL.canParse(address)) return
  const { protocol, hostname } = new URL(address)
  if (protocol === 'http:' && !isLoopback(hostname)) reader.problem(name, `must be https: ${why}`)
}

function readOidc(reader: Reader): SignOnConfig['oidc'] {
  const issuer = reader.url('OIDC_ISSUER') ?? ''
  refuseClear(reader, 'OIDC_ISSUER', issuer, 'on plain http anybody between could sign in as anyone')
  const config = {
    issuer,
    clientId: reader.text('OIDC_CLIENT_ID') ?? '',
    clientSecret: reader.text('OIDC_CLIENT_SECRET') ?? '',
    name: reader.text('OIDC_NAME'),
  }
  return together(reader, ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET']) ? Object.freeze(config) : null
}

/** null = nothing is sent to a collector of traces. */
function readTraces(reader: Reader) {
  const endpoint = reader.address('OTEL_EXPORTER_OTLP_ENDPOINT')
  const share = reader.text('OTEL_TRACES_SAMPLER_ARG')
  if (!/^(?:0(?:\.\d+)?|1(?:\.0+)?)$/.test(share))
    reader.problem('OTEL_TRACES_SAMPLER_ARG', `must be a share from 0 to 1, got '${share}'`)
  const intervalMs = reader.whole('OTEL_METRIC_EXPORT_INTERVAL')
  const sent = reader.choice('OTEL_METRICS_EXPORTER')
  const rest = {
    headers: readHeaders(reader),
    serviceName: reader.text('OTEL_SERVICE_NAME'),
    ratio: Number(share),
    metricsIntervalMs: sent === 'none' ? null : intervalMs,
  }
  return endpoint === null ? null : Object.freeze({ endpoint, ...rest })
}

/**
 * `name=value,name=value`, percent-encoded, as OpenTelemetry writes it. A value may be a secret and is not repeated.
 */
function readHeaders(reader: Reader): Readonly<Record<string, string>> {
  const name = 'OTEL_EXPORTER_OTLP_HEADERS'
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

function readYookassa(reader: Reader): PaymentConfig['yookassa'] {
  const apiUrl = reader.address('YOOKASSA_API_URL')
  refuseClear(reader, 'YOOKASSA_API_URL', apiUrl, 'the secret key travels there')
  const config = {
    shopId: reader.text('YOOKASSA_SHOP_ID') ?? '',
    secretKey: reader.text('YOOKASSA_SECRET_KEY') ?? '',
    apiUrl,
    networks: readNetworks(reader, 'YOOKASSA_NETWORKS'),
  }
  return together(reader, ['YOOKASSA_SHOP_ID', 'YOOKASSA_SECRET_KEY']) ? Object.freeze(config) : null
}

function readMail(reader: Reader): MailConfig | null {
  const tls = reader.choice('SMTP_TLS')
  const host = reader.host('SMTP_HOST') ?? ''
  const port = reader.whole('SMTP_PORT') ?? SMTP_PORTS[tls]
  const from = reader.text('SMTP_FROM')
  if (from !== null && !isMailAddress(from))
    reader.problem('SMTP_FROM', `must be a plain address such as ai@example.com, got '${from}'`)
  const fromName = reader.text('SMTP_FROM_NAME')
  const user = reader.text('SMTP_USER') ?? ''
  const password = reader.text('SMTP_PASSWORD') ?? ''
  const others = (['SMTP_PORT', 'SMTP_TLS', 'SMTP_USER', 'SMTP_PASSWORD', 'SMTP_FROM_NAME'] as const).filter((name) =>
    reader.given(name),
  )
  if (!together(reader, ['SMTP_HOST', 'SMTP_FROM', ...others])) return null
  const withLogin = together(reader, ['SMTP_USER', 'SMTP_PASSWORD'])
  if (withLogin && tls === 'none' && !isLoopback(host))
    reader.problem('SMTP_TLS', "is 'none', so the password would travel in the clear: use 'starttls' or 'implicit'")
  return Object.freeze({
    host,
    port,
    tls,
    login: withLogin ? { user, password } : null,
    from: from ?? '',
    fromName,
  })
}

function readTelegram(reader: Reader): TelegramConfig | null {
  const botToken = reader.text('TELEGRAM_BOT_TOKEN')
  // The token becomes a part of a path. The message never repeats it.
  if (botToken !== null && !/^\d{1,20}:[\w-]{20,100}$/.test(botToken))
    reader.problem('TELEGRAM_BOT_TOKEN', 'must be a token as BotFather gives it, such as 123456:ABC-DEF…')
  const apiUrl = reader.address('TELEGRAM_API_URL')
  refuseClear(reader, 'TELEGRAM_API_URL', apiUrl, 'the token travels there')
  return botToken === null ? null : Object.freeze({ botToken, apiUrl })
}

function isLoopback(hostname: string): boolean {
  return ['localhost', '::1', '[::1]'].includes(hostname) || (isIP(hostname) === 4 && hostname.startsWith('127.'))
}

function readNetworks(reader: Reader, name: 'TRUSTED_PROXIES' | 'YOOKASSA_NETWORKS'): readonly string[] {
  const entries = (reader.text(name) ?? '')
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
  if (entries.length > PROXIES_MAX)
    reader.problem(name, `lists ${entries.length} ranges, at most ${PROXIES_MAX} are allowed`)
  const wrong = entries.find((entry) => !isIpRange(entry))
  if (wrong !== undefined) reader.problem(name, `'${wrong}' is not an IP address or a CIDR range such as 10.0.0.0/8`)
  return Object.freeze(entries)
}

/** A file that is named by mistake may be of any size, and a device may have no end. */
const BYTES_MAX = 65_536

/** Reads the file of a secret to its end, whatever its size says: a pipe, such as that of `<(…)`, has none. */
export const readSecretFile: ReadFile = (path) => {
  try {
    const file = openSync(path, 'r')
    try {
      const bytes = Buffer.alloc(BYTES_MAX + 1)
      let length = 0
      for (let read = -1; read !== 0 && length < bytes.length; length += read)
        read = readSync(file, bytes, length, bytes.length - length, null)
      if (length > BYTES_MAX) return { problem: `has more than ${BYTES_MAX} bytes, which no secret has` }
      return { text: bytes.toString('utf8', 0, length) }
    } finally {
      closeSync(file)
    }
  } catch (thrown) {
    return { problem: `cannot be read: ${diskFault(thrown) ?? thrownMessage(thrown)}` }
  }
}

import { BlockList } from 'node:net'
import { parseWrappingKeys } from './ledger/seal.ts'

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** The settings of operator.md 2, read once at start. */
export interface Config {
  readonly host: string
  readonly port: number
  readonly dataDir: string
  /** null = the embedded store. */
  readonly databaseUrl: string | null
  /** null = `./tollgate.yaml` if it is there. */
  readonly configFile: string | null
  readonly adminToken: string | null
  readonly url: string
  /** null = made in the data directory. */
  readonly kek: readonly Buffer[] | null
  readonly publicUrl: string | null
  readonly trustedProxies: readonly string[]
  readonly allowPrivateUpstreams: boolean
  readonly logLevel: LogLevel
}

type Env = Readonly<Record<string, string | undefined>>

/** Reads the environment; every malformed value is one clear line that names the variable, never its secret. */
export function readConfig(env: Env): { readonly config: Config; readonly problems: readonly string[] } {
  const problems: string[] = []
  const databaseUrl = checked(env, 'DATABASE_URL', isPostgresUrl, 'must be an address such as postgres://user@host/database', problems)
  const kekText = given(env, 'TOLLGATE_KEK')
  const kek = kekText === null ? null : parseWrappingKeys(kekText)
  if (kekText !== null && kek === null) problems.push('TOLLGATE_KEK: must be base64 of 32 bytes, or a comma list of such')
  if (databaseUrl !== null && kekText === null) problems.push('TOLLGATE_KEK: is required with DATABASE_URL: base64 of 32 random bytes')
  if (given(env, 'VALKEY_URL') !== null) problems.push('VALKEY_URL: several nodes that share a Valkey are not supported by this version; leave it out')
  const config: Config = {
    host: given(env, 'HOST') ?? '127.0.0.1',
    port: Number(checked(env, 'PORT', (text) => /^\d{1,5}$/.test(text) && Number(text) <= 65_535, 'must be a port number from 0 to 65535', problems) ?? '8080'),
    dataDir: given(env, 'TOLLGATE_DATA') ?? './data',
    databaseUrl,
    configFile: given(env, 'TOLLGATE_CONFIG'),
    adminToken: checked(env, 'TOLLGATE_ADMIN_TOKEN', (text) => text.length >= 32, 'must have at least 32 characters', problems),
    url: checked(env, 'TOLLGATE_URL', isHttpUrl, 'must be an http or https address', problems) ?? 'http://127.0.0.1:8080',
    kek,
    publicUrl: checked(env, 'TOLLGATE_PUBLIC_URL', isHttpUrl, 'must be an http or https address', problems),
    trustedProxies: listOf(env, 'TRUSTED_PROXIES', problems),
    allowPrivateUpstreams: flag(env, 'ALLOW_PRIVATE_UPSTREAMS', problems),
    logLevel: level(env, problems),
  }
  checked(env, 'TOLLGATE_WORKERS', (text) => text === '1', 'must be 1: more processes on one machine are not supported by this version', problems)
  return { config, problems }
}

function given(env: Env, name: string): string | null {
  const value = env[name]
  return value === undefined || value === '' ? null : value
}

function checked(env: Env, name: string, allows: (text: string) => boolean, what: string, problems: string[]): string | null {
  if (env[name] === '') problems.push(`${name}: is set but empty: ${what}, or leave it out`)
  const value = given(env, name)
  if (value === null || allows(value)) return value
  problems.push(`${name}: ${what}`)
  return null
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}

function isPostgresUrl(text: string): boolean {
  return URL.canParse(text) && /^postgres(ql)?:$/.test(new URL(text).protocol)
}

function flag(env: Env, name: string, problems: string[]): boolean {
  return checked(env, name, (text) => text === 'true' || text === 'false', 'must be true or false', problems) === 'true'
}

function level(env: Env, problems: string[]): LogLevel {
  const text = given(env, 'TOLLGATE_LOG_LEVEL') ?? 'info'
  const found = LOG_LEVELS.find((name) => name === text)
  if (found === undefined) problems.push(`TOLLGATE_LOG_LEVEL: must be one of ${LOG_LEVELS.join(', ')}, got '${text}'`)
  return found ?? 'info'
}

function listOf(env: Env, name: string, problems: string[]): readonly string[] {
  const entries = (given(env, name) ?? '').split(',').map((entry) => entry.trim()).filter((entry) => entry !== '')
  for (const entry of entries) {
    const [address = '', bits] = entry.split('/')
    try {
      const family = address.includes(':') ? 'ipv6' : 'ipv4'
      new BlockList().addSubnet(address, bits === undefined ? (family === 'ipv6' ? 128 : 32) : Number(bits), family)
    } catch {
      problems.push(`${name}: '${entry}' is not an address or a CIDR range`)
    }
  }
  return entries
}

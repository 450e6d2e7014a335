/** Where Valkey is. */
export interface ValkeyAddress {
  /** Valkey has several shards, of which `nodes` names at least one. */
  readonly cluster: boolean
  readonly nodes: readonly { readonly host: string; readonly port: number }[]
  readonly tls: boolean
  readonly username: string | null
  readonly password: string | null
}

const PORT = 6_379
const FORM = /^(?:redis|valkey)(s?)(\+cluster)?:\/\/(?:([^@/?#]*)@)?([^@/?#]+)([/?#].*)?$/

/**
 * Reads `redis://user:password@host:6379/0`, or `redis+cluster://host1:6379,host2:6379`; `rediss`, `valkey` and
 * `valkeys` likewise. null = the URL has neither form.
 */
export function valkeyAddress(url: string): ValkeyAddress | null {
  const [whole, secure = '', cluster, user = '', hosts = '', rest = ''] = FORM.exec(url) ?? []
  if (whole === undefined) return null
  const places = hosts.split(',').map((host) => placeOf(`redis://${user === '' ? '' : `${user}@`}${host}`))
  const [first] = places
  if (first === undefined || first === null || (cluster === undefined && places.length > 1)) return null
  // A cluster has only database 0, and the addresses of its nodes take no options.
  if (cluster !== undefined && !/^\/?0?$/.test(rest)) return null
  const nodes = places.filter((place) => place !== null)
  if (nodes.length < places.length) return null
  const { username, password } = first
  return {
    cluster: cluster !== undefined,
    nodes: nodes.map(({ host, port }) => ({ host, port })),
    tls: secure !== '',
    username,
    password,
  }
}

interface ValkeyServer {
  readonly host: string
  readonly port: number
  readonly username: string | null
  readonly password: string | null
}

function placeOf(text: string): ValkeyServer | null {
  if (!URL.canParse(text)) return null
  const { hostname, port, username, password } = new URL(text)
  if (hostname === '') return null
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? PORT : Number(port),
    username: decoded(username),
    password: decoded(password),
  }
}

function decoded(text: string): string | null {
  if (text === '') return null
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

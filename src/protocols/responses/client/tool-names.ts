import { createHash } from 'node:crypto'

/** A client's tool in Responses that chat has as a function. */
export interface ToolOrigin {
  readonly type: 'function' | 'custom' | 'tool_search' | 'local_shell'
  readonly name: string
  readonly namespace: string | null
}

/** Chat providers accept names of this length, with these characters. */
const NAME_CHARS_MAX = 64
const FOREIGN = /[^A-Za-z0-9_-]/g
const SEPARATOR = '__'
/** Enough to keep the names of one request distinct. */
const HASH_CHARS = 8

/**
 * The names of a request's tools as functions of chat, and the way back (clients.md 3). A function outside a namespace
 * keeps its name. Any other name follows from the tool alone, so that it is the same in every turn; only where two
 * tools would share one does the second get a name with a hash.
 */
export class ToolNames {
  readonly #origins = new Map<string, ToolOrigin>()
  readonly #names = new Map<string, string>()

  /** `plain`: names of functions outside all namespaces, which never change. */
  constructor(plain: Iterable<string>) {
    for (const name of plain) this.name({ type: 'function', name, namespace: null })
  }

  /** The name of a tool among the functions of chat. */
  name(origin: ToolOrigin): string {
    const key = JSON.stringify([origin.namespace, origin.name])
    const known = this.#names.get(key)
    if (known !== undefined) return known
    const free = this.#freeName(origin, key)
    this.#names.set(key, free)
    // A name from an earlier turn may belong to another tool now.
    if (!this.#origins.has(free)) this.#origins.set(free, origin)
    return free
  }

  /** The tool that a model called by this name; null = no tool has it. */
  origin(name: string): ToolOrigin | null {
    return this.#origins.get(name) ?? null
  }

  #freeName({ type, name, namespace }: ToolOrigin, key: string): string {
    if (type === 'function' && namespace === null) return name
    const joined = namespace === null ? name : joinedName(namespace, name)
    const flat = joined.replaceAll(FOREIGN, '_')
    if (flat.length <= NAME_CHARS_MAX && !this.#origins.has(flat)) return flat
    const hash = createHash('sha256').update(key).digest('hex').slice(0, HASH_CHARS)
    return `${flat.slice(0, NAME_CHARS_MAX - HASH_CHARS - 1)}_${hash}`
  }
}

function joinedName(namespace: string, name: string): string {
  return namespace.endsWith(SEPARATOR) ? namespace + name : namespace + SEPARATOR + name
}

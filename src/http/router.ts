import { assert } from '../base/assert.ts'

/** The method and path of a route, by which it is found. */
export interface RouteKey {
  readonly method: string
  readonly path: string
}

export type RouteMatch<R> =
  | { readonly status: 'found'; readonly route: R; readonly params: Readonly<Record<string, string>> }
  | { readonly status: 'wrong_method'; readonly allowed: readonly string[] }
  | { readonly status: 'unknown' }

interface Node<R> {
  readonly statics: Map<string, Node<R>>
  named: { readonly name: string; readonly node: Node<R> } | null
  /** The longest ending comes first; the last one is empty. */
  rests: readonly Rest<R>[]
  readonly methods: Map<string, R>
}

interface Rest<R> {
  readonly name: string
  /** Endings of a path, such as `:generateContent`. */
  readonly ending: string
  readonly methods: Map<string, R>
}

const UNKNOWN: RouteMatch<never> = Object.freeze({ status: 'unknown' })
const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({})
/** The most segments of a route. A longer path can only match a `*rest`, which takes all of its end. */
const SEGMENTS_MAX = 64
/** Routes are suggested only if they are few: those below at least two words of the path. */
const NEAR_WORDS_MIN = 2
const NEAR_ROUTES_MAX = 12
/** A word in the place of an id or a model's name, or after its colon. Our ids contain digits. */
const WORD = /(?:^|:)[A-Za-z]+(?:[_-][A-Za-z]+)*$/

/** The path of a route as documents write it: `/v1/models/{id}`. */
export function pathTemplate(path: string): string {
  return path.replaceAll(/(?<=\/)[:*](\w+)/g, '{$1}')
}

/**
 * The route table compiled for look-up: a map of the literal paths and a tree of the others. A literal takes precedence
 * over `:name`, and `:name` over `*rest`.
 */
export class Router<R extends RouteKey> {
  readonly #literal = new Map<string, Map<string, RouteMatch<R>>>()
  readonly #root: Node<R> = emptyNode()

  constructor(routes: readonly R[]) {
    for (const route of routes) this.#add(route)
  }

  /** `path` is the raw target without its query. HEAD finds the route of GET. */
  match(method: string, path: string): RouteMatch<R> {
    const wanted = method === 'HEAD' ? 'GET' : method
    const literal = this.#literal.get(path)?.get(wanted)
    if (literal !== undefined) return literal
    const segments = path.slice(1).split('/', SEGMENTS_MAX)
    const search: Search = { method: wanted, path, segments, params: [], allowed: new Set() }
    const route = path.startsWith('/') ? find(this.#root, search, 0, 1, null) : null
    if (route !== null) return { status: 'found', route, params: Object.fromEntries(search.params) }
    return search.allowed.size === 0 ? UNKNOWN : { status: 'wrong_method', allowed: allowedList(search.allowed) }
  }

  /** The routes that begin with the same words as an unknown path; empty if there are many. */
  near(path: string): readonly R[] {
    let node = this.#root
    let words = 0
    for (const segment of path.slice(1).split('/', SEGMENTS_MAX)) {
      const child = node.statics.get(segment)
      if (child === undefined) break
      node = child
      words += 1
    }
    const routes = words < NEAR_WORDS_MIN ? [] : routesBelow(node)
    return routes.length > NEAR_ROUTES_MAX ? [] : routes
  }

  #add(route: R): void {
    assert(route.path.startsWith('/'), `Route ${route.path} starts with a slash.`)
    const segments = route.path.slice(1).split('/')
    let node = this.#root
    for (const [index, segment] of segments.entries()) {
      if (segment.startsWith('*')) {
        assert(index === segments.length - 1, `Only the last segment of ${route.path} is a rest.`)
        return register(restOf(node, segment).methods, route)
      }
      node = segment.startsWith(':') ? namedChild(node, segment.slice(1), route.path) : staticChild(node, segment)
    }
    register(node.methods, route)
    if (route.path.includes('/:')) return
    const methods = this.#literal.get(route.path) ?? new Map<string, RouteMatch<R>>()
    methods.set(route.method, Object.freeze({ status: 'found', route, params: NO_PARAMS }))
    this.#literal.set(route.path, methods)
  }
}

interface Search {
  readonly method: string
  readonly path: string
  readonly segments: readonly string[]
  readonly params: [string, string][]
  readonly allowed: Set<string>
}

function emptyNode<R>(): Node<R> {
  return { statics: new Map(), named: null, rests: [], methods: new Map() }
}

function register<R extends RouteKey>(methods: Map<string, R>, route: R): void {
  assert(!methods.has(route.method), `Route ${route.method} ${route.path} is in the table once.`)
  methods.set(route.method, route)
}

function staticChild<R>(node: Node<R>, segment: string): Node<R> {
  const child = node.statics.get(segment) ?? emptyNode<R>()
  node.statics.set(segment, child)
  return child
}

function namedChild<R>(node: Node<R>, name: string, path: string): Node<R> {
  node.named ??= { name, node: emptyNode() }
  assert(node.named.name === name, `Routes that share a prefix with ${path} call its parameter '${node.named.name}'.`)
  return node.named.node
}

/** `*name`, or `*name:word` for paths that end with `:word`. */
function restOf<R>(node: Node<R>, segment: string): Rest<R> {
  const [name = '', ...words] = segment.slice(1).split(':')
  const ending = words.map((word) => `:${word}`).join('')
  const known = node.rests.find((rest) => rest.name === name && rest.ending === ending)
  if (known !== undefined) return known
  const rest: Rest<R> = { name, ending, methods: new Map() }
  node.rests = [...node.rests, rest].toSorted((one, other) => other.ending.length - one.ending.length)
  return rest
}

function routesBelow<R>({ methods, statics, named, rests }: Node<R>): readonly R[] {
  return [
    ...methods.values(),
    ...[...statics.values()].flatMap(routesBelow),
    ...(named === null ? [] : routesBelow(named.node)),
    ...rests.flatMap((rest) => [...rest.methods.values()]),
  ]
}

/**
 * Segment `index` starts at `offset` in the path, so that a rest is cut out without joining. `value`: the previous
 * segment if it is the value of a parameter.
 */
function find<R>(node: Node<R>, search: Search, index: number, offset: number, value: string | null): R | null {
  const segment = search.segments[index]
  if (segment === undefined) return take(node.methods, search, value)
  const next = offset + segment.length + 1
  const child = node.statics.get(segment)
  const literal = child === undefined ? null : find(child, search, index + 1, next, null)
  if (literal !== null) return literal
  const named = node.named
  const given = named === null ? null : decoded(segment)
  if (named !== null && given !== null && given !== '') {
    search.params.push([named.name, given])
    const route = find(named.node, search, index + 1, next, given)
    if (route !== null) return route
    search.params.pop()
  }
  return node.rests.length === 0 ? null : findRest(node.rests, search, decoded(search.path.slice(offset)))
}

function findRest<R>(rests: readonly Rest<R>[], search: Search, text: string | null): R | null {
  if (text === null) return null
  for (const { name, ending, methods } of rests) {
    const value = text.endsWith(ending) ? text.slice(0, text.length - ending.length) : ''
    const route = value === '' ? null : take(methods, search, value)
    if (route === null) continue
    search.params.push([name, value])
    return route
  }
  return null
}

function take<R>(methods: Map<string, R>, search: Search, value: string | null): R | null {
  const route = methods.get(search.method)
  if (route !== undefined) return route
  // `POST /v1/responses/compact` asks for an endpoint that we lack, and not for a Response of that name.
  if (value !== null && search.method === 'POST' && WORD.test(value)) return null
  for (const method of methods.keys()) search.allowed.add(method)
  return null
}

/** null = its percent signs cannot be decoded: such a path names no resource. */
function decoded(segment: string): string | null {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    return null
  }
}

function allowedList(methods: Set<string>): readonly string[] {
  const list = [...methods]
  return list.includes('GET') ? [...list, 'HEAD'] : list
}

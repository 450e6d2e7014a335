import { listOf, objectOf, textOf } from '../../protocols/wire/raw-json.ts'

type Leaf = string | number | boolean | null
type Branch = Map<string, Node> | Node[]
type Node = Leaf | Branch

const NAME = /\.([^.[\]]+)/y
const INDEX = /\[(\d{1,6})\]/y
const STEPS_MAX = 64
const PATH_CHARS_MAX = 4_096
const CHARS_MAX = 4_194_304

/**
 * The arguments of a call that comes in pieces, each with the JSON path of its value; a string continues where it
 * stopped.
 */
export class PartialArguments {
  readonly #root: Branch = new Map()
  #chars = 0

  /** false: the pieces do not form one object, or are more than any honest call has. */
  add(partialArgs: unknown): boolean {
    for (const raw of listOf(partialArgs)) {
      const piece = objectOf(raw) ?? {}
      const path = textOf(piece['jsonPath']) ?? ''
      const value = leafOf(piece)
      this.#chars += path.length + (typeof value === 'string' ? value.length : 8)
      const steps = stepsOf(path)
      if (steps === null || this.#chars > CHARS_MAX || !this.#set(steps, value)) return false
    }
    return true
  }

  text(): string {
    const parts: string[] = []
    write(this.#root, parts)
    return parts.join('')
  }

  #set(steps: readonly (string | number)[], value: Leaf): boolean {
    let parent = this.#root
    for (const [position, step] of steps.entries()) {
      const known = childOf(parent, step)
      const next = steps[position + 1]
      if (next === undefined)
        return put(parent, step, typeof known === 'string' && typeof value === 'string' ? known + value : value)
      const child =
        known instanceof Map || Array.isArray(known) ? known : typeof next === 'number' ? [] : new Map<string, Node>()
      if (child !== known && !put(parent, step, child)) return false
      parent = child
    }
    return true
  }
}

function leafOf(piece: Readonly<Record<string, unknown>>): Leaf {
  const { stringValue, numberValue, boolValue } = piece
  if (typeof stringValue === 'string') return stringValue
  if (typeof numberValue === 'number') return numberValue
  return typeof boolValue === 'boolean' ? boolValue : null
}

/** The steps of a path such as `$.a.b[0]['c d']`; null for an invalid path or the root itself. */
function stepsOf(path: string): readonly (string | number)[] | null {
  if (!path.startsWith('$') || path.length > PATH_CHARS_MAX) return null
  const steps: (string | number)[] = []
  for (let at = 1; at < path.length;) {
    const found = stepAt(path, at)
    if (found === null || steps.length === STEPS_MAX) return null
    steps.push(found.step)
    at = found.end
  }
  return steps.length > 0 ? steps : null
}

function stepAt(path: string, at: number): { readonly step: string | number; readonly end: number } | null {
  const quote = path[at + 1]
  if (path[at] === '[' && (quote === "'" || quote === '"')) {
    const close = path.indexOf(`${quote}]`, at + 2)
    return close === -1 ? null : { step: path.slice(at + 2, close), end: close + 2 }
  }
  const name = matchAt(NAME, path, at)
  if (name !== null) return { step: name, end: at + 1 + name.length }
  const index = matchAt(INDEX, path, at)
  return index === null ? null : { step: Number(index), end: at + 2 + index.length }
}

function matchAt(sticky: RegExp, path: string, at: number): string | null {
  sticky.lastIndex = at
  return sticky.exec(path)?.[1] ?? null
}

function childOf(parent: Branch, step: string | number): Node | undefined {
  return parent instanceof Map ? parent.get(String(step)) : typeof step === 'number' ? parent[step] : undefined
}

/** A list grows by one at a time: a far index would only cost memory. */
function put(parent: Branch, step: string | number, node: Node): boolean {
  if (parent instanceof Map) parent.set(String(step), node)
  else if (typeof step === 'number' && step <= parent.length) parent[step] = node
  else return false
  return true
}

/** Collects all parts in one list: strings joined at each level would be copied once per level. */
function write(node: Node, parts: string[]): void {
  if (node === null || typeof node !== 'object') {
    parts.push(JSON.stringify(node))
    return
  }
  const isMap = node instanceof Map
  let separator = isMap ? '{' : '['
  for (const [name, child] of node.entries()) {
    parts.push(isMap ? `${separator}${JSON.stringify(name)}:` : separator)
    separator = ','
    write(child, parts)
  }
  if (separator !== ',') parts.push(separator)
  parts.push(isMap ? '}' : ']')
}

import { listOf, objectOf, textOf } from '../raw-json.ts'

type Leaf = string | number | boolean | null
type Branch = Map<string, Node> | Node[]
type Node = Leaf | Branch

const STEP = /\.([^.[\]]+)|\[(\d{1,6})\]|\[(['"])(.*?)\3\]/gy
const STEPS_MAX = 64
const CHARS_MAX = 4_194_304

/** The arguments of a call that comes in pieces, each with the JSON path of its value; a text goes on where it stopped. */
export class PartialArguments {
  readonly #root: Branch = new Map()
  #chars = 0

  /** false: the pieces are not of one object, or more than any honest call has. */
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
    return textOfNode(this.#root)
  }

  #set(steps: readonly (string | number)[], value: Leaf): boolean {
    let parent = this.#root
    for (const [position, step] of steps.entries()) {
      const known = childOf(parent, step)
      const next = steps[position + 1]
      if (next === undefined) return put(parent, step, typeof known === 'string' && typeof value === 'string' ? known + value : value)
      const child = known instanceof Map || Array.isArray(known) ? known : typeof next === 'number' ? [] : new Map<string, Node>()
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

/** `$.a.b[0]['c d']` as its steps; null where it is none, or the root itself. */
function stepsOf(path: string): readonly (string | number)[] | null {
  const steps: (string | number)[] = []
  let end = 1
  for (const found of path.slice(1).matchAll(STEP)) {
    const [whole, name, index, , quoted] = found
    steps.push(index === undefined ? (name ?? quoted ?? '') : Number(index))
    end += whole.length
  }
  return path.startsWith('$') && end === path.length && steps.length > 0 && steps.length <= STEPS_MAX ? steps : null
}

function childOf(parent: Branch, step: string | number): Node | undefined {
  return parent instanceof Map ? parent.get(String(step)) : typeof step === 'number' ? parent[step] : undefined
}

/** A list grows one by one: a far index would only cost memory. */
function put(parent: Branch, step: string | number, node: Node): boolean {
  if (parent instanceof Map) parent.set(String(step), node)
  else if (typeof step === 'number' && step <= parent.length) parent[step] = node
  else return false
  return true
}

function textOfNode(node: Node): string {
  if (node instanceof Map) return `{${[...node].map(([name, child]) => `${JSON.stringify(name)}:${textOfNode(child)}`).join(',')}}`
  return Array.isArray(node) ? `[${node.map(textOfNode).join(',')}]` : JSON.stringify(node)
}

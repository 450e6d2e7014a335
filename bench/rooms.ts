import { globSync, readFileSync, statSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The parts of V8's CPU profile that are read. */
interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: {
      readonly functionName: string
      readonly url: string
      readonly lineNumber: number
      readonly columnNumber: number
    }
    readonly children?: readonly number[]
  }[]
  readonly samples: readonly number[]
  /** Microseconds since the sample before. */
  readonly timeDeltas: readonly number[]
}

/** The share of a profile that is left out: the start, the catalogue and the first loads. */
const WARM_UP_SHARE = 0.5
const SHARE_MIN = 0.005

/**
 * Where the main thread of the largest profile of a folder was busy: shares of its time by room of `src`, by package,
 * `node` for Node itself alone, and V8's own. A sample counts for the innermost function that is in a room or package.
 */
export function busyRooms(directory: string): readonly (readonly [room: string, share: number])[] {
  const [path] = globSync(join(directory, '*.cpuprofile')).toSorted(
    (left, right) => statSync(right).size - statSync(left).size,
  )
  if (path === undefined) return []
  // V8 wrote it in this form.
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(path, 'utf8')) as CpuProfile
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)))
  const maps = new Map<string, SourceMap | null>()
  const rooms = new Map<number, string>()
  const roomOf = (id: number): string => {
    const known = rooms.get(id)
    if (known !== undefined) return known
    const node = byId.get(id)
    const parent = parents.get(id)
    const { functionName = '', url = '', lineNumber = 0, columnNumber = 0 } = node?.callFrame ?? {}
    const own = url.startsWith('file:')
      ? roomOfSource(sourceOf(maps, url, lineNumber, columnNumber))
      : /^\((?:garbage|idle|program)/.test(functionName)
        ? functionName
        : null
    const room = own ?? (parent === undefined ? 'node' : roomOf(parent))
    rooms.set(id, room)
    return room
  }
  const micros = new Map<string, number>()
  let busy = 0
  for (let index = Math.floor(samples.length * WARM_UP_SHARE); index < samples.length; index += 1) {
    const room = roomOf(samples[index] ?? 0)
    // A sample lasts until the next one.
    const took = timeDeltas[index + 1] ?? 0
    if (room === '(idle)') continue
    busy += took
    micros.set(room, (micros.get(room) ?? 0) + took)
  }
  return [...micros]
    .map(([room, took]) => [room, took / busy] as const)
    .filter(([, share]) => share >= SHARE_MIN)
    .toSorted(([, left], [, right]) => right - left)
}

function sourceOf(maps: Map<string, SourceMap | null>, url: string, line: number, column: number): string {
  const path = fileURLToPath(url)
  let map = maps.get(path)
  if (map === undefined) {
    map = globSync(`${path}.map`).length === 0 ? null : new SourceMap(JSON.parse(readFileSync(`${path}.map`, 'utf8')))
    maps.set(path, map)
  }
  const found = map?.findEntry(line, column)
  return found !== undefined && 'originalSource' in found ? found.originalSource : path
}

function roomOfSource(path: string): string | null {
  const name = /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules\/)/.exec(path)?.[1]
  return name ?? /(?:^|\/)src\/([\w-]+)\//.exec(path)?.[1] ?? null
}

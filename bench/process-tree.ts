import { globSync, readFileSync } from 'node:fs'

const TICKS_PER_SECOND = 100
const PAGE_BYTES = 4_096

interface ProcessStat {
  readonly pid: number
  readonly parent: number
  /** User and system time together, in clock ticks. */
  readonly ticks: number
  readonly residentBytes: number
}

export interface TreeUsage {
  readonly cpuMicros: number
  /** CPU time of the first process alone. */
  readonly rootCpuMicros: number
  readonly residentBytes: number
}

/** CPU time and memory of a process and all its descendants, from /proc/<pid>/stat. */
export function treeUsage(root: number): TreeUsage {
  const all = globSync('/proc/[0-9]*/stat').flatMap(readStat)
  const tree = new Set([root])
  // A parent has a larger id than its child once ids have wrapped, so this is repeated until no process is added.
  for (let before = 0; before !== tree.size;) {
    before = tree.size
    for (const { pid, parent } of all) if (tree.has(parent)) tree.add(pid)
  }
  const members = all.filter(({ pid }) => tree.has(pid))
  const first = members.find(({ pid }) => pid === root)
  if (first === undefined) throw new Error(`Process ${root} is gone.`)
  return {
    cpuMicros: microsOf(members.reduce((sum, { ticks }) => sum + ticks, 0)),
    rootCpuMicros: microsOf(first.ticks),
    residentBytes: members.reduce((sum, { residentBytes }) => sum + residentBytes, 0),
  }
}

function microsOf(ticks: number): number {
  return (ticks * 1_000_000) / TICKS_PER_SECOND
}

function readStat(path: string): ProcessStat[] {
  try {
    const text = readFileSync(path, 'latin1')
    // The command's name is in parentheses and may contain spaces and parentheses: fields are counted after the last
    // one.
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
    const [, parent = 0] = fields
    return [
      {
        pid: Number(text.slice(0, text.indexOf(' '))),
        parent,
        ticks: (fields[11] ?? 0) + (fields[12] ?? 0),
        residentBytes: (fields[21] ?? 0) * PAGE_BYTES,
      },
    ]
  } catch {
    // The process ended after it was listed.
    return []
  }
}

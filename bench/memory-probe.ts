import { writeFileSync } from 'node:fs'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Inside } from './memory.ts'

/**
 * Loaded into a measured server by `--import`: a signal makes it write V8's figures of its memory to the file in this
 * module's URL. SIGUSR2 collects garbage first.
 */
const file = new URL(import.meta.url).searchParams.get('file') ?? ''
setFlagsFromString('--expose-gc')
// V8 returns the function that the flag makes available.
const collect = runInNewContext('gc') as () => void

process.on('SIGPWR', () => write())
process.on('SIGUSR2', () => {
  collect()
  write()
})

function write(): void {
  const { heapUsed, heapTotal, external, arrayBuffers } = process.memoryUsage()
  const spaces = getHeapSpaceStatistics().map(({ space_name, physical_space_size, space_used_size }) => ({
    name: space_name,
    bytes: physical_space_size,
    usedBytes: space_used_size,
  }))
  const inside: Inside = { heapUsed, heapTotal, external, arrayBuffers, spaces }
  writeFileSync(file, JSON.stringify(inside))
}

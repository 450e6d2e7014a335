import { execFileSync } from 'node:child_process'
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { freshFolder } from '../harness/lasting.ts'

export interface SmallDisk {
  readonly path: string
  /** Takes all space that is left. */
  fill(): void
  /** Gives it back. */
  free(): void
  stop(): void
}

/** A separate small file system. Returns null if it may not be mounted; under CI that is a failure. */
export function mountSmallDisk(megabytes: number): SmallDisk | null {
  if (userInfo().uid !== 0) {
    const sentence = 'SKIPPED: only root may mount a small disk.'
    if (process.env['CI'] === 'true') throw new Error(sentence)
    console.error(sentence)
    return null
  }
  const path = freshFolder()
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tollgate-test', path])
  const ballast = join(path, 'ballast')
  return {
    path,
    fill: () => {
      const file = openSync(ballast, 'w')
      for (const size of [1_048_576, 4_096]) {
        try {
          for (;;) writeSync(file, Buffer.alloc(size))
        } catch {
          // Full, down to this size.
        }
      }
      closeSync(file)
    },
    free: () => rmSync(ballast, { force: true }),
    stop: () => {
      execFileSync('umount', ['-l', path])
    },
  }
}

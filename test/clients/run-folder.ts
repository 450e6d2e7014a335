import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { freshFolder } from '../harness/lasting.ts'

/**
 * Makes the folder for everything temporary of a run. When this process ends, however it ends, so do all processes that
 * the run has started, daemons of the clients among them, and the folder goes. The result does that at once.
 */
export function startRunFolder(): { readonly folder: string; end(): Promise<void> } {
  const folder = freshFolder()
  // A PostgreSQL below it runs as another user.
  chmodSync(folder, 0o711)
  const watcher = spawn(process.execPath, [fileURLToPath(import.meta.url), folder], {
    env: {},
    stdio: ['pipe', 'inherit', 'inherit'],
    detached: true,
  })
  return {
    folder,
    end: async () => {
      watcher.stdin.end()
      if (watcher.exitCode === null) await once(watcher, 'exit')
    },
  }
}

/** Ends every process whose environment names the folder. A daemon leaves its group and its parent, and keeps that. */
export function endProcessesOf(folder: string): void {
  // One that is ended may have started another.
  while (processesOf(folder).map(end).includes(true));
}

function processesOf(folder: string): readonly number[] {
  return readdirSync('/proc').flatMap((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/environ`, 'latin1').includes(folder)
        ? [Number(name)]
        : []
    } catch {
      // It has ended, or belongs to another user.
      return []
    }
  })
}

/** Returns false where it has ended already. */
function end(pid: number): boolean {
  if (pid === process.pid) return false
  try {
    return process.kill(pid, 'SIGKILL')
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ESRCH') return false
    throw thrown
  }
}

// As the program that `startRunFolder` starts: its standard input ends with the run.
const [, program, watched] = process.argv
if (program === fileURLToPath(import.meta.url) && watched !== undefined)
  process.stdin.resume().once('end', () => {
    endProcessesOf(watched)
    rmSync(watched, { recursive: true, force: true })
  })

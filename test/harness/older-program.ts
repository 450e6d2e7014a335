import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
const MIGRATIONS = 'src/store/migrations.ts'

export interface OlderProgram {
  /** Its src/main.ts. */
  readonly main: string
  readonly commit: string
  stop(): void
}

/** The program of the last commit that did not know the migration, from the history; null where the history is not there, and says so: a checkout may be without one. */
export function programBefore(migration: string): OlderProgram | null {
  const commit = lastCommitWithout(migration)
  if (commit === null) {
    console.error(`SKIPPED: the history does not tell which commit came before the migration '${migration}'. Fetch it whole to run these tests.`)
    return null
  }
  const directory = mkdtempSync(join(tmpdir(), 'tollgate-older-'))
  const archive = execFileSync('git', ['archive', commit, 'src', 'bin', 'package.json'], { cwd: ROOT, maxBuffer: 256 * 1_048_576 })
  execFileSync('tar', ['-x', '-C', directory], { input: archive })
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'))
  return { main: join(directory, 'src/main.ts'), commit: commit.slice(0, 7), stop: () => rmSync(directory, { recursive: true, force: true }) }
}

function lastCommitWithout(migration: string): string | null {
  try {
    const [first] = git('log', '--first-parent', '-m', '--reverse', '--format=%H', `-Sname: '${migration}'`, '--', MIGRATIONS).split('\n')
    return first === undefined || first === '' ? null : git('rev-parse', `${first}^`)
  } catch {
    return null
  }
}

function git(...words: readonly string[]): string {
  return execFileSync('git', words, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
}

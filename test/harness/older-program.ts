import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
const MIGRATIONS = 'src/store/migrations.ts'

export interface OlderProgram {
  /** Its src/main.ts. */
  readonly main: string
  readonly commit: string
}

/**
 * The program of the last commit that did not know the migration, from the history; null, with a message, if there is
 * no history, as in some checkouts.
 */
export function programBefore(migration: string): OlderProgram | null {
  const commit = lastCommitWithout(migration)
  if (commit === null) {
    console.error(
      `SKIPPED: the history does not tell which commit came before the migration '${migration}'. Fetch it whole to run these tests.`,
    )
    return null
  }
  return { main: join(unpacked(commit), 'src/main.ts'), commit: commit.slice(0, 7) }
}

/**
 * The programs whose stores this one must open: of each tag of a release, by its name, and the one before the
 * migration. Empty, with a message, if there is no history.
 */
export function programsBefore(migration: string): ReadonlyMap<string, OlderProgram> {
  const before = programBefore(migration)
  if (before === null) return new Map()
  const tags = git('tag', '--list', 'v[0-9]*', '--merged', 'HEAD').split('\n')
  const released = tags
    .filter((tag) => tag !== '')
    .map((tag): [string, OlderProgram] => {
      const commit = git('rev-parse', `${tag}^{commit}`)
      return [tag, { main: join(unpacked(commit), 'src/main.ts'), commit: commit.slice(0, 7) }]
    })
  return new Map([[`the program before '${migration}'`, before], ...released])
}

/** Kept from run to run, with its compiled code; Node strips no types from files in node_modules. */
function unpacked(commit: string): string {
  const directory = join(ROOT, 'dist', `older-${commit}`)
  if (existsSync(directory)) return directory
  mkdirSync(join(ROOT, 'dist'), { recursive: true })
  const parts = mkdtempSync(`${directory}-`)
  const archive = execFileSync('git', ['archive', commit, 'src', 'bin', 'package.json'], {
    cwd: ROOT,
    maxBuffer: 256 * 1_048_576,
  })
  execFileSync('tar', ['-x', '-C', parts], { input: archive })
  symlinkSync(join(ROOT, 'node_modules'), join(parts, 'node_modules'))
  try {
    renameSync(parts, directory)
  } catch (thrown) {
    rmSync(parts, { recursive: true, force: true })
    // Another test file created it first.
    if (!existsSync(directory)) throw thrown
  }
  return directory
}

function lastCommitWithout(migration: string): string | null {
  try {
    const [first] = git(
      'log',
      '--first-parent',
      '-m',
      '--reverse',
      '--format=%H',
      `-Sname: '${migration}'`,
      '--',
      MIGRATIONS,
    ).split('\n')
    return first === undefined || first === '' ? null : git('rev-parse', `${first}^`)
  } catch {
    return null
  }
}

function git(...words: readonly string[]): string {
  return execFileSync('git', words, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
}

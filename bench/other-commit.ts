import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const OWN = join(import.meta.dirname, '..')

export interface OtherCommit {
  /** The short hash. */
  readonly hash: string
  /** The folder of its built program. */
  readonly root: string
  remove(): void
}

/** Checks out another commit and builds it, to be measured beside this one. */
export function checkOut(commit: string): OtherCommit {
  const git = (...values: readonly string[]): string =>
    execFileSync('git', ['-C', OWN, ...values], { encoding: 'utf8' }).trim()
  const hash = git('rev-parse', '--short', `${commit}^{commit}`)
  const parent = mkdtempSync(join(tmpdir(), 'tollgate-bench-commit-'))
  const root = join(parent, hash)
  git('worktree', 'add', '--quiet', '--detach', root, hash)
  const remove = (): void => {
    git('worktree', 'remove', '--force', root)
    rmSync(parent, { recursive: true, force: true })
  }
  try {
    const run = (...values: readonly [string, ...string[]]): void =>
      void execFileSync('npm', values, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
    if (lock(root) === lock(OWN)) symlinkSync(join(OWN, 'node_modules'), join(root, 'node_modules'))
    else run('ci')
    run('run', 'build')
    return { hash, root, remove }
  } catch (thrown) {
    remove()
    throw thrown
  }
}

function lock(root: string): string {
  return readFileSync(join(root, 'package-lock.json'), 'utf8')
}

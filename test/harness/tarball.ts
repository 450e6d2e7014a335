import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

/** The npm package of this tree: the path of its tarball, written in `folder`. */
export function packTarball(folder: string): string {
  return execFileSync(process.execPath, [join(ROOT, 'scripts/package.ts'), folder], {
    cwd: ROOT,
    encoding: 'utf8',
  }).trim()
}

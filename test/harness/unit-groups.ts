import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * Folders of files that need no separate process, with the most of them that share one: starting one costs more than
 * most of them do.
 */
const FILES_MAX: Readonly<Record<string, number>> = {
  'src/': 40,
  'test/providers/': 40,
  'test/relay/': 40,
  'test/api/': 8,
  'test/corpora/': 8,
  'test/sdk/': 12,
}
/** Files that act on the whole process, and files that start programs. */
const ALONE =
  /\bmock\.|\bsyncBuiltinESMExports\b|\bprocess\.(?:env\b[^=\n]*[^=!]=[^=]|on\(|once\(|exit|chdir\(|kill\(|setuid)|\bconfigureGlobal\b|node:(?:child_process|cluster|worker_threads)'|\/harness\/(?:server|stall-server|node-bench|console-world|postgres|valkey|form)\.ts/
const TOGETHER = pathToFileURL(join(import.meta.dirname, 'together.ts')).href

/** Whether a test file may share its process with others. */
export function sharesProcess(path: string, text: string): boolean {
  return folderOf(path) !== undefined && !path.endsWith('.long.test.ts') && !ALONE.test(text)
}

/**
 * The runner's input for `paths` below `root`: files in `folder` that load several of them, and all others as they are.
 */
export function grouped(
  paths: readonly string[],
  root: string,
  folder: string,
): { readonly groups: readonly string[]; readonly alone: readonly string[] } {
  const together = paths.filter((path) => sharesProcess(path, readFileSync(join(root, path), 'utf8')))
  const groups = Object.entries(FILES_MAX).flatMap(([of, filesMax]) => {
    const members = together.filter((path) => folderOf(path) === of)
    const count = Math.ceil(members.length / filesMax)
    return Array.from({ length: count }, (_value, group) => {
      const entry = join(folder, `${of.replaceAll('/', '-')}${group + 1}.mjs`)
      writeFileSync(
        entry,
        entryOf(members.filter((_path, index) => index % count === group).map((path) => join(root, path))),
      )
      return entry
    })
  })
  return { groups, alone: paths.filter((path) => !together.includes(path)) }
}

/** A program that runs the tests of `files`. */
export function entryOf(files: readonly string[]): string {
  return `import { runTogether } from ${JSON.stringify(TOGETHER)}\nawait runTogether(${JSON.stringify(files, null, 2)})\n`
}

function folderOf(path: string): string | undefined {
  return Object.keys(FILES_MAX).find((folder) => path.startsWith(folder))
}

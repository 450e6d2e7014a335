import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * Folders whose test files share processes, each with the most files per process: starting a process takes longer than
 * most of the files. A test that starts a program or changes its process is in another folder (.oxlintrc.json).
 */
const FILES_MAX: Readonly<Record<string, number>> = {
  'src/': 40,
  'test/providers/': 40,
  'test/relay/': 40,
  'test/api/': 8,
  'test/corpora/': 8,
  'test/sdk/': 12,
}
const TOGETHER = pathToFileURL(join(import.meta.dirname, 'together.ts')).href

/**
 * The runner's input for `paths` below `root`: generated files in `folder` that each load several of them, and all
 * others unchanged.
 */
export function grouped(paths: readonly string[], root: string, folder: string): readonly string[] {
  const groups = Object.entries(FILES_MAX).flatMap(([of, filesMax]) => {
    const members = paths.filter((path) => path.startsWith(of))
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
  const alone = paths.filter((path) => !Object.keys(FILES_MAX).some((of) => path.startsWith(of)))
  return [...groups, ...alone.map((path) => join(root, path))]
}

/** A program that runs the tests of `files`. */
export function entryOf(files: readonly string[]): string {
  return `import { runTogether } from ${JSON.stringify(TOGETHER)}\nawait runTogether(${JSON.stringify(files, null, 2)})\n`
}

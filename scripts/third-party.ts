import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

const LICENCE_FILE = /^(?:licen[cs]e|copying|notice)(?:[.-].*)?$/i

interface Manifest {
  readonly name: string
  readonly version: string
  readonly license?: string
}

/**
 * The licence texts of the packages in a bundle, for the file that is shipped beside it: licences require them when
 * code is distributed. Packages with the same text share it.
 */
export function thirdPartyText(moduleIds: Iterable<string>): string {
  const packages = new Map<string, readonly [title: string, text: string]>()
  for (const id of moduleIds) {
    const folder = packageFolder(id)
    if (folder === null || packages.has(folder)) continue
    // By npm's rules each folder in node_modules has a manifest with these fields.
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
    packages.set(folder, [`${name} ${version} (${license ?? 'see below'})`, licenceText(folder)])
  }
  const titles = Map.groupBy(packages.values(), ([, text]) => text)
  return [...titles]
    .map(([text, rows]) => `${[...new Set(rows.map(([title]) => title))].toSorted().join('\n')}\n\n${text}\n`)
    .toSorted()
    .join(`\n${'-'.repeat(80)}\n\n`)
}

/** The folder of the package that a module belongs to; null = our own code. */
function packageFolder(moduleId: string): string | null {
  const file = moduleId.replace(/^\0/, '').split('?', 1)[0] ?? ''
  const found = /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(file)?.[0]
  return found !== undefined && existsSync(join(found, 'package.json')) ? found : null
}

function licenceText(folder: string): string {
  const names = readdirSync(folder).filter((name) => LICENCE_FILE.test(name))
  if (names.length === 0) return `(${basename(dirname(folder))}/${basename(folder)} ships no text of its licence)`
  return names
    .toSorted()
    .map((name) => readFileSync(join(folder, name), 'utf8').replaceAll('\r\n', '\n').trim())
    .join('\n\n')
}

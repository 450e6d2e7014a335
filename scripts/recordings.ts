import { existsSync, globSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { rowOf } from './recordings/recorded-case.ts'

function main([folder = '']: readonly string[]): void {
  const upstream = join(folder, 'upstream')
  if (folder === '' || !existsSync(upstream))
    throw new Error('usage: node scripts/recordings.ts FOLDER, which holds upstream/<provider>/<kind>/<case>/meta.json')
  const rows = globSync('*/*/*/meta.json', { cwd: upstream })
    .toSorted()
    .map((file) => rowOf(join(upstream, dirname(file))))
  const target = join(import.meta.dirname, '../test/recordings')
  mkdirSync(target, { recursive: true })
  const files = Map.groupBy(rows, ({ kept: { name } }) => name.split('/').slice(0, 2).join('-'))
  for (const [name, cases] of files)
    writeFileSync(join(target, `${name}.jsonl`), cases.map(({ kept }) => `${JSON.stringify(kept)}\n`).join(''))
  const head = ['case', 'protocol', 'origin', 'framing', 'repository', 'path', 'commit', 'licence', 'made']
  writeFileSync(
    join(target, 'SOURCES.tsv'),
    [head, ...rows.map(({ source }) => source)].map((row) => `${row.join('\t')}\n`).join(''),
  )
}

main(process.argv.slice(2))

import { VARIABLE_SECTIONS } from '../src/environment-table.ts'
import type { VariableRow } from '../src/lib/setting-reader.ts'

/** The tables stand below it. */
const BEGIN = '<!-- made by npm run docs -->\n'

/** The page with the tables of src/environment-table.ts below its own text. */
export function withSettingTables(page: string): string {
  const own = page.split(BEGIN)[0] ?? ''
  const tables = Object.entries(VARIABLE_SECTIONS).map(
    ([title, rows]) =>
      `\n## ${title}\n\n| Variable | Value | Default | Meaning |\n|---|---|---|---|\n${Object.entries(rows)
        .map(([name, row]) => `| \`${name}\` | ${valueText(row)} | ${defaultText(row)} | ${meaningText(row)} |\n`)
        .join('')}`,
  )
  return `${own}${BEGIN}${tables.join('')}`
}

function valueText(row: VariableRow): string {
  const value = row.value ?? kindText(row)
  return row.secret === true ? `${value}; secret` : value
}

function kindText(row: VariableRow): string {
  switch (row.kind) {
    case 'text':
      return 'a text'
    case 'host':
      return 'an IP address or a host name'
    case 'networks':
      return 'a comma list of addresses and CIDR ranges'
    case 'url':
      return `a URL such as \`${row.example}\``
    case 'address':
      return `an address such as \`${row.example}\``
    case 'whole':
      return `\`${row.least}\` to \`${row.most}\``
    case 'flag':
      return '`true` or `false`'
    case 'choice':
      return row.options.map((option) => `\`${option}\``).join(', ')
  }
}

function defaultText({ absent, fallback = null }: VariableRow): string {
  return absent ?? (fallback === null ? '–' : `\`${String(fallback)}\``)
}

/** Links in the source are relative to the project's root. */
function meaningText({ meaning }: VariableRow): string {
  return meaning.replaceAll('](docs/', '](')
}

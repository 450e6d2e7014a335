import { FOREIGN_VARIABLES, VARIABLE_SECTIONS } from '../src/tables/environment-table.ts'
import type { VariableRow } from '../src/base/setting-reader.ts'

/** The tables are below this line. */
const BEGIN = '<!-- made by npm run docs -->\n'
/** Tollgate itself does not read these variables. */
const FOREIGN_TITLE = 'Of Node and the packages'

/** The page with the tables of src/tables/environment-table.ts below its own text. */
export function withSettingTables(page: string): string {
  const own = page.split(BEGIN)[0] ?? ''
  const tables = Object.entries(VARIABLE_SECTIONS).map(([title, rows]) =>
    table(
      title,
      Object.entries(rows).map(([name, row]) => [`\`${name}\``, valueText(row), defaultText(row), meaningText(row)]),
    ),
  )
  const foreign = table(
    FOREIGN_TITLE,
    FOREIGN_VARIABLES.map((row) => [
      row.names.map((name) => `\`${name}\``).join(', '),
      row.value,
      row.absent,
      meaningText(row),
    ]),
  )
  return `${own}${BEGIN}${tables.join('')}${foreign}`
}

function table(title: string, rows: readonly (readonly string[])[]): string {
  const lines = rows.map((cells) => `| ${cells.join(' | ')} |\n`)
  return `\n## ${title}\n\n| Variable | Value | Default | Meaning |\n|---|---|---|---|\n${lines.join('')}`
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

/** Links in the source are relative to the root of the project. */
function meaningText({ meaning }: Pick<VariableRow, 'meaning'>): string {
  return meaning.replaceAll('](docs/', '](')
}

import { commandLineClients, type Client } from './clients.ts'
import { libraries, type Library } from './libraries.ts'

const BEGIN = '| Client | Its user sees the usage | A conversation that is too long |\n|---|---|---|\n'

/** The page with the table of what the tests of this folder show of each client, from the fields that they run by. */
export function withShownTable(page: string): string {
  const rows = [...commandLineClients().map(commandLineRow), ...libraries().map(libraryRow)].join('')
  return page.replace(/^\| Client \| Its user sees[^]*/m, `${BEGIN}${rows}`)
}

function commandLineRow({ name, usage, compacts }: Client): string {
  const seen = typeof usage === 'string' ? usage : usage.option === undefined ? 'yes' : `with \`${usage.option}\``
  return `| ${name} | ${seen} | ${typeof compacts === 'string' ? compacts : summaryOf(compacts)} |\n`
}

function summaryOf({ bySize }: { readonly bySize?: true }): string {
  return `a summary, ${bySize === true ? 'by its own count' : 'when it is refused'}`
}

function libraryRow({ name, usage, compacts }: Library): string {
  const seen = typeof usage === 'string' ? usage : 'yes'
  return `| ${name} | ${seen} | ${compacts === undefined ? 'the error' : summaryOf(compacts)} |\n`
}

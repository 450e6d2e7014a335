import { ERROR_TABLES } from '../src/base/error-table.ts'

/**
 * The page with the tables of the source below its own text; links in the source are relative to the root of the
 * project.
 */
export function withErrorTables(page: string): string {
  const own = page.split(/^## /m)[0] ?? ''
  return `${own}${Object.entries(ERROR_TABLES)
    .map(([title, rows]) => `## ${title}\n\n| HTTP | \`error_type\` | When |\n|---|---|---|\n${tableRows(rows)}`)
    .join('\n')}`
}

function tableRows(rows: (typeof ERROR_TABLES)[string]): string {
  return Object.entries(rows)
    .map(
      ([name, { status, when, ...row }]) =>
        `| ${status} | \`${'errorType' in row ? row.errorType : name}\` | ${when.replaceAll('](docs/', '](')} |\n`,
    )
    .join('')
}

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { withRouteTables } from './api-page.ts'
import { writeDashboards } from './dashboards.ts'
import { withErrorTables } from './error-page.ts'
import { withSettingTables } from './settings-page.ts'
import { withShownTable } from '../test/clients/shown.ts'

/** Writes the parts of the pages that are generated from tables of the source. */
const ROOT = join(import.meta.dirname, '..')
for (const [name, made] of [
  ['docs/errors.md', withErrorTables],
  ['docs/settings.md', withSettingTables],
  ['docs/reference/api.md', withRouteTables],
  ['docs/clients/shown.md', withShownTable],
] as const) {
  const path = join(ROOT, name)
  writeFileSync(path, made(readFileSync(path, 'utf8')))
}
writeDashboards()

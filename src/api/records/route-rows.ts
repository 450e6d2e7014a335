import { CSV_FORMATS, CSV_FORMATS_TEXT } from '../../base/csv.ts'
import type { ErrorName } from '../../base/errors.ts'
import { ownValue } from '../../base/own-value.ts'
import { object, oneOf, only, text, type Static } from '../../base/schema.ts'
import type { RouteExample, WireRoute } from '../../base/wire-route.ts'

/** The answer of a route that deletes what its path names. */
export const Deleted = object({ id: text(), deleted: only(true) })
export type Deleted = Static<typeof Deleted>

export const FileFormat = oneOf(CSV_FORMATS, CSV_FORMATS_TEXT)

export const EXAMPLE_DAYS = { from: '2026-01-01', to: '2026-01-31' }
const ID = 'Vb3kQ9xT2mLr7dWa'
export const EXAMPLE_TOKEN = `${ID}${ID}Vb3kQ9xT2mL`
/** The value of a path's parameter in examples, by the word before it. */
const EXAMPLES: Readonly<Record<string, string>> = {
  accounts: `acc_${ID}`,
  'account-groups': `grp_${ID}`,
  channels: `chn_${ID}`,
  codes: `code_${ID}`,
  'coming-prices': `cpr_${ID}`,
  deliveries: `dlv_${ID}`,
  generations: `gen-${ID}`,
  identities: ID,
  invitations: `inv_${ID}`,
  'ip-blocks': '203.0.113.7',
  keys: `key_${ID}`,
  log: `gen-${ID}`,
  'management-keys': `mkey_${ID}`,
  members: `usr_${ID}`,
  model: 'sandbox/chat',
  models: 'sandbox/chat',
  notes: `note_${ID}`,
  payments: `pay_${ID}`,
  'price-changes': `prc_${ID}`,
  providers: 'sandbox',
  responses: `resp-${ID}`,
  sessions: `ses_${ID}`,
  tokens: `tok_${ID}`,
  topups: 'invoice-18',
  users: `usr_${ID}`,
  videos: `gen-${ID}`,
}

/**
 * Rows with what follows from their names, where they do not say it themselves: an example's body without fields and
 * the parameters of its path; on the planes of the console also that a path may name no record, and that a change of
 * one may conflict.
 */
export function completed<const T extends Readonly<Record<string, WireRoute>>>(rows: T): T {
  const made = Object.entries(rows).map(([name, row]): readonly [string, WireRoute] => [
    name,
    { ...row, example: exampleOf(name, row), errors: row.errors ?? errorsOf(name) },
  ])
  // Each row stays under its name, with all that it had.
  return Object.fromEntries(made) as T
}

function exampleOf(name: string, { example = {}, body }: WireRoute): RouteExample {
  const words = name.split('/')
  const usual = words.flatMap((word, index) =>
    // A verb may follow, as in `*model:generateContent`.
    isParameter(word) ? [[word.slice(1).split(':', 1)[0] ?? '', ownValue(EXAMPLES, words[index - 1] ?? '') ?? '']] : [],
  )
  const path = { ...Object.fromEntries(usual), ...example.path }
  return {
    ...(body === undefined ? {} : { body: {} }),
    ...example,
    ...(Object.keys(path).length === 0 ? {} : { path }),
  }
}

function errorsOf(name: string): readonly ErrorName[] {
  const [method, plane, ...words] = name.split('/')
  if ((plane !== 'admin' && plane !== 'cabinet') || !words.some(isParameter)) return []
  return method === 'GET ' || method === 'DELETE ' ? ['not_found'] : ['not_found', 'conflict']
}

/** Whether a part of a path stands for any text. */
function isParameter(word: string): boolean {
  return word.startsWith(':') || word.startsWith('*')
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ADMIN_ROUTES } from '../../src/api/admin/contract.ts'
import { CABINET_ROUTES } from '../../src/api/cabinet/contract.ts'
import { parseSettingsJson } from '../../src/catalog/document-reader.ts'
import { ApiError } from '../../src/base/errors.ts'
import { readBody } from '../../src/kinds/fields/strict-body.ts'
import { isTimezone } from '../../src/ledger/period.ts'
import { microFromRubles } from '../../src/base/money.ts'
import { PUBLIC_ROUTES } from '../../src/api/reference/public-routes.ts'
import type { JsonSchema } from '../../src/base/schema.ts'
import type { WireRoute } from '../../src/base/wire-route.ts'
import { isRead, variants, type Body } from './body-variants.ts'
import { faultsOf } from '../harness/contract-check.ts'

/** The meaning of our formats: JSON Schema leaves it to the reader. */
const FORMATS: Readonly<Record<string, (value: unknown) => boolean>> = {
  rubles: (value) => typeof value !== 'number' || microFromRubles(value) !== null,
  percent: (value) => typeof value !== 'number' || Number.isInteger(Math.round(value * 1e8) / 1e6),
  'date-time': (value) => typeof value !== 'string' || !Number.isNaN(Date.parse(value)),
  email: (value) => typeof value !== 'string' || /^[^\s@<>"]{1,64}@[^\s@<>"]{1,190}$/.test(value),
  timezone: (value) => value === undefined || value === null || isTimezone(String(value)),
}

/** The verdict of an independent checker and of the formats on a body. */
function isRight(schema: JsonSchema, body: Body): boolean {
  const properties = Object.entries(schema.properties ?? {})
  const plain = {
    ...schema,
    properties: Object.fromEntries(properties.map(([name, { format: _named, ...rest }]) => [name, rest])),
  }
  return (
    faultsOf(plain, body).length === 0 &&
    properties.every(([name, { format }]) => format === undefined || FORMATS[format]?.(body[name]) === true)
  )
}

/** Read by the catalogue's own reader, which names every problem of a document, not only the first. */
const OF_THE_CATALOGUE = [
  'PUT /admin/v1/catalog',
  'PUT /admin/v1/providers/:slug',
  'POST /admin/v1/providers/try',
  'POST /admin/v1/providers',
  'POST /admin/v1/coming-prices',
  'PUT /admin/v1/models/*id',
  'PATCH /admin/v1/settings',
]
/** Keys are managed by programs too. */
const KEYS = Object.entries(PUBLIC_ROUTES).filter(([name]) => name.includes('/v1/keys'))
const ROWS: readonly (readonly [string, WireRoute])[] = [
  ...Object.entries({ ...ADMIN_ROUTES, ...CABINET_ROUTES }),
  ...KEYS,
]
const READ = ROWS.filter(([name, { body }]) => body?.additionalProperties === false && !OF_THE_CATALOGUE.includes(name))

async function compare(schema: JsonSchema, bases: readonly Body[], read: (body: unknown) => unknown): Promise<void> {
  const apart = new Set<string>()
  let [taken, refused] = [0, 0]
  for (const base of bases) {
    assert.ok(await isRead(read, base), JSON.stringify(base))
    for (const body of [...variants(schema, base), { ...base, none: 1 }, { ...base, none: null }]) {
      const accepts = await isRead(read, body)
      if (accepts) taken += 1
      else refused += 1
      if (accepts !== isRight(schema, body))
        apart.add(`the reader ${accepts ? 'takes' : 'refuses'} ${JSON.stringify(body).slice(0, 300)}`)
    }
  }
  // Of a body without fields only unknown ones can be refused.
  const least = Object.keys(schema.properties ?? {}).length === 0 ? 2 : 21
  assert.ok(taken > 0 && refused >= least, `${taken} taken, ${refused} refused`)
  assert.deepEqual([...apart], [])
}

test('each body of a console API that has fields is read by its schema', () => {
  assert.ok(READ.length > 20, `${READ.length}`)
  const unread = ROWS.filter(([name, { body }]) => body !== undefined && !READ.some(([known]) => known === name))
  assert.deepEqual(
    unread.filter(
      ([name, { body }]) => Object.keys(body?.properties ?? {}).length > 0 && !OF_THE_CATALOGUE.includes(name),
    ),
    [],
  )
})

for (const [name, { body = {}, example }] of READ) {
  // An example is an object where there is a body.
  const base = (example?.body ?? {}) as Body
  test(`${name}: the reader takes and refuses what the published schema does`, async () => {
    await compare(body, [base], (given) => readBody(body, given))
  })
}

test('PATCH /admin/v1/settings: the reader takes and refuses what the published schema does', async () => {
  const { body } = ADMIN_ROUTES['PATCH /admin/v1/settings']
  const bases: readonly Body[] = [
    { markup: 1.25, maintenance: null },
    {
      maintenance: { message: 'x', retry_after: 5 },
      timezone: 'Europe/Moscow',
      rates: { USD: 90, EUR: '100.5' },
      rate_limit: { requests: 1, window: 1 },
      ip_block: { failures: 1, window: 1, duration: 1 },
      stream_resume: { grace: 0, retention: 0 },
    },
  ]
  await compare(body, bases, (given) => {
    const [problem] = parseSettingsJson(given).problems
    if (problem !== undefined) throw new ApiError('invalid_input', problem.message)
  })
})

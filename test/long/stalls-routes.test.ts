import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Route } from '../../src/http/edge.ts'
import { signedUp, topUp } from '../harness/console-client.ts'
import { form } from '../harness/form.ts'
import { fillEmbeddedLog, ROW_STEP_MS } from '../harness/full-log.ts'
import { movingGateway } from '../harness/gateway.ts'
import { STALL_MS_MAX } from '../harness/patience.ts'
import {
  charsOf,
  EXEMPT_ROUTES,
  FILLINGS,
  hostileBodies,
  hostileForms,
  LARGE_CHARS,
  nameOf,
  ROUTE_ROWS,
} from './stall-routes.ts'
import { startTollgate } from '../harness/server.ts'
import { startStallServer } from '../harness/stall-server.ts'
import { freshFolder, lasting } from '../harness/lasting.ts'

const CATALOG =
  '{ rate_limit: { requests: 100000, window: 60 }, ip_block: { failures: 100000, window: 60, duration: 1 } }'
/** Query parameters that routes read. */
const NAMES = ['id', 'from', 'to', 'limit', 'cursor', 'model', 'status', 'query', 'filter', 'group_by', 'after', 'type']
const BAITS = [' '.repeat(900), '1'.repeat(900), 'a.'.repeat(450), '<!--'.repeat(220), '='.repeat(900)]

/** Rows of the log, half of them of the account that asks: a year of a busy account. */
const LOG_ROWS = form({ short: 60_000, long: 400_000 })
const LOG_START_MS = Date.now() - LOG_ROWS * ROW_STEP_MS

const listing = await movingGateway({ catalog: CATALOG })
const routes = listing.app.routes
await listing.stop()
const dataDir = freshFolder()
const first = await startTollgate({ dataDir })
const person = await signedUp(first)
const cookie = person.browser.cookie
const accountId = person.accountId
await topUp(first, accountId, 10_000)
const playgroundKey = String((await person.browser.post('keys', { name: 'playground' })).body.id)
const key = String((await first.admin('POST', `/admin/v1/accounts/${accountId}/keys`, { name: 'k' })).body.key)
const managementKey = String((await person.browser.post('management-keys', { name: 'm' })).body.key)
await first.stop()
fillEmbeddedLog(dataDir, { rows: LOG_ROWS, large: accountId, startMs: LOG_START_MS }, { there: true })
const stalls = await lasting(startStallServer(CATALOG, dataDir))

function headersOf({ plane }: Route<unknown>): Record<string, string> {
  switch (plane) {
    case 'session':
      return { cookie, 'sec-fetch-site': 'same-origin' }
    case 'playground':
      return { cookie, 'sec-fetch-site': 'same-origin', 'x-tollgate-key-id': playgroundKey }
    case 'management':
      return { authorization: `Bearer ${managementKey}` }
    case 'any_key':
    case 'key':
      return { authorization: `Bearer ${key}` }
    case 'admin':
    case 'token':
      return { authorization: `Bearer ${stalls.server.adminToken}` }
    case 'open':
      return { 'sec-fetch-site': 'same-origin' }
  }
}

function targetOf({ path }: Route<unknown>, bait: string): string {
  return path.replaceAll(/(?<=\/)[:*][a-z_]+/gi, encodeURIComponent(bait.slice(0, 600)))
}

/** Asserts that the request passes the credentials: a body that is not read would prove nothing. */
async function checked(
  what: string,
  route: Route<unknown>,
  target: string,
  body: Buffer | null,
  type?: string,
): Promise<void> {
  const headers = { ...headersOf(route), ...(type === undefined ? {} : { 'content-type': type }) }
  const { status, text } = await stalls.checked(`${nameOf(route)}: ${what}`, route.method, target, {
    headers,
    ...(body === null ? {} : { body }),
  })
  if (route.plane !== 'open')
    assert.ok(
      status !== 401 && status !== 415 && status !== 413,
      `${nameOf(route)}: ${what}: ${status} ${text.slice(0, 300)}`,
    )
}

test('each route that reads a body has a row that says what of it is attacked, and each row has a route; an exemption says why', () => {
  assert.ok(routes.length > 120)
  const reading = routes.filter(({ body }) => body !== 'none').map(nameOf)
  assert.deepEqual([...ROUTE_ROWS.keys()].toSorted(), [...new Set(reading)].toSorted())
  for (const [name, reason] of EXEMPT_ROUTES)
    assert.ok(routes.some((route) => nameOf(route) === name) && reason.length > 20, name)
})

test(`no stall above ${STALL_MS_MAX} ms of CPU by the query or the path of any route that the server has`, async () => {
  for (const route of routes.filter(({ body }) => body === 'none')) {
    for (const bait of form({ short: BAITS.slice(0, 2), long: BAITS })) {
      const query = NAMES.map((name) => `${name}=${encodeURIComponent(bait.slice(0, 300))}`).join('&')
      await checked('the query', route, `${targetOf(route, bait)}?${query}`, null)
    }
  }
})

/** Requests to a long log for many, few or no rows, with and without an index. */
function logQueries(): readonly string[] {
  const middle = new Date(LOG_START_MS + (LOG_ROWS / 2) * ROW_STEP_MS).toISOString()
  const half = `from=${new Date(LOG_START_MS).toISOString()}&to=${middle}`
  return [
    '',
    'limit=300',
    'limit=100&offset=70000',
    half,
    `limit=300&${half}`,
    'model=rare/model&limit=300',
    'provider=azure&limit=300',
    'provider=nobody',
    'type=embeddings&limit=300',
    'type=image',
    'status=error&limit=300',
    'status=cancelled',
    'app=https://notes.example&limit=300',
    'app=https://nobody.example',
    'key=key_large_1&limit=300',
    'key_id=key_large_1&limit=300',
    `model=vendor/model-7&provider=nobody&${half}`,
    'id=gen-0-nobody',
    'query=notes',
    ...['model', 'key', 'app', 'person', 'provider', 'day', 'account'].map((group) => `group_by=${group}&${half}`),
    'account=ACCOUNT&limit=300',
    'account=ACCOUNT&provider=nobody',
  ]
}

const ABOUT_LOG = /log|generation|usage|summary|spend|statement|margin|ledger|report|apps|accounts|keys|story/

test(`no stall above ${STALL_MS_MAX} ms of CPU by a query of a log of ${LOG_ROWS} rows, of any route that may read it`, async (context) => {
  let answered = 0
  for (const route of routes.filter(({ body, method }) => body === 'none' && method === 'GET')) {
    if (form({ short: !ABOUT_LOG.test(route.path), long: false })) continue
    const target = route.path.replaceAll(/:id\b/g, route.plane === 'admin' ? accountId : 'gen-0-bench')
    for (const query of logQueries().filter((_query, place) => form({ short: place % 4 === 0, long: true }))) {
      const { status } = await stalls.checked(
        `${nameOf(route)}?${query}`,
        route.method,
        `${target.replaceAll(/(?<=\/)[:*][a-z_]+/gi, 'x')}?${query.replace('ACCOUNT', accountId)}`,
        {
          headers: headersOf(route),
        },
      )
      if (status === 200) answered += 1
    }
  }
  context.diagnostic(`${answered} answers`)
  assert.ok(answered > 50, String(answered))
})

test(`no stall above ${STALL_MS_MAX} ms of CPU by a body as large as may be, in whatever member of it, of any route that the server has`, async () => {
  for (const [index, route] of routes
    .filter((found) => ROUTE_ROWS.has(nameOf(found)) && !EXEMPT_ROUTES.has(nameOf(found)))
    .entries()) {
    const chars = charsOf(route)
    // One of them for each route; routes of a session that acts for a key share the key's code.
    const isShown = (place: number): boolean =>
      chars < LARGE_CHARS || (route.plane !== 'playground' && place === index % FILLINGS)
    for (const [place, made] of hostileBodies(chars, ROUTE_ROWS.get(nameOf(route))).entries()) {
      if (!form({ short: isShown(place), long: true })) continue
      const [what, body] = made()
      await checked(what, route, targetOf(route, 'x'), body)
    }
  }
})

test(`no stall above ${STALL_MS_MAX} ms of CPU by a form, of any route that takes one`, async () => {
  const taking = routes.filter(({ body }) => body === 'json-or-multipart')
  assert.ok(taking.length >= 4)
  for (const route of form({ short: taking.slice(0, 1), long: taking })) {
    for (const [what, type, body] of hostileForms()) await checked(what, route, route.path, body, type)
  }
})

const numbered = (count: number, make: (index: number) => string): string =>
  Array.from({ length: count }, (_value, index) => make(index)).join(',')

/** As much as the body of a route may contain, with no error before its end. */
const WELL_FORMED: readonly (readonly [what: string, name: string, query: string, body: () => string])[] = [
  [
    'models',
    'PUT /admin/v1/catalog',
    '?dry_run=1',
    () =>
      `{"bundled":false,"providers":{"a":{"adapter":"openai","base_url":"https://a.example/v1","api_key":"k"}},"models":[${numbered(2_000, (index) => `{"id":"a/m${index}","name":"M ${index}","type":"chat","context_length":1000,"endpoints":[{"provider":"a","model":"m${index}","price":{"currency":"USD","prompt":1,"completion":2}}]}`)}]}`,
  ],
  [
    'providers',
    'PUT /admin/v1/catalog',
    '?dry_run=1',
    () =>
      `{"bundled":false,"models":[],"providers":{${numbered(5_000, (index) => `"p${index}":{"adapter":"openai","base_url":"https://p${index}.example/v1","api_key":"k"}`)}}}`,
  ],
  [
    'endpoints',
    'PUT /admin/v1/models/*id',
    '',
    () =>
      `{"type":"chat","context_length":1000,"endpoints":[${numbered(4_000, (index) => `{"provider":"p","model":"m${index}","price":{"currency":"USD","prompt":1,"completion":2}}`)}]}`,
  ],
  [
    'a bill',
    'POST /admin/v1/reconciliations',
    '',
    () =>
      JSON.stringify({
        provider: 'sandbox',
        csv: `date,model,cost,currency\n${'2026-01-01,sandbox/chat,1.5,USD\n'.repeat(300_000)}`,
      }),
  ],
  [
    'a bill of quotes',
    'POST /admin/v1/reconciliations',
    '',
    () => JSON.stringify({ provider: 'sandbox', csv: '"'.repeat(5_000_000) }),
  ],
  [
    'a bill of quotes inside of a cell',
    'POST /admin/v1/reconciliations',
    '',
    () => JSON.stringify({ provider: 'sandbox', csv: 'a"'.repeat(3_400_000) }),
  ],
  [
    'a bill of one line',
    'POST /admin/v1/reconciliations',
    '',
    () => JSON.stringify({ provider: 'sandbox', csv: `date,model,cost${','.repeat(9_000_000)}` }),
  ],
  [
    'allowed models',
    'PATCH /admin/v1/accounts/:id',
    '',
    () => `{"allowed_models":[${numbered(59_000, (index) => `"a/m${index}"`)}]}`,
  ],
]

for (const [what, name, query, body] of WELL_FORMED) {
  test(`no stall above ${STALL_MS_MAX} ms of CPU by as much as a body may hold: ${what}: ${name}`, async () => {
    const route = routes.find((found) => nameOf(found) === name)
    assert.ok(route !== undefined)
    await checked(what, route, targetOf(route, 'x/y') + query, Buffer.from(body()))
  })
}

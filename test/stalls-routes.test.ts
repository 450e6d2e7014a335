import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Route } from '../src/http/edge.ts'
import { signedUp } from './harness/console-client.ts'
import { startMovingServer } from './harness/moving-server.ts'
import { STALL_MS_MAX } from './harness/patience.ts'
import { startStallServer, type StallServer } from './harness/stall-server.ts'

const CATALOG =
  '{ rate_limit: { requests: 100000, window: 60 }, ip_block: { failures: 100000, window: 60, duration: 1 } }'
/** Names of the query that routes read. */
const NAMES = ['id', 'from', 'to', 'limit', 'cursor', 'model', 'status', 'query', 'filter', 'group_by', 'after', 'type']
const BAITS = [' '.repeat(900), '1'.repeat(900), 'a.'.repeat(450), '<!--'.repeat(220), '='.repeat(900)]
/** As large as a person's forms may be; the paid routes have rows of 10 MB of their own. */
const BODY_CHARS = 15_000

let stalls: StallServer
let routes: readonly Route<unknown>[]
let cookie: string

before(async () => {
  const listing = await startMovingServer(CATALOG)
  routes = listing.app.routes
  await listing.stop()
  stalls = await startStallServer(CATALOG)
  cookie = (await signedUp(stalls.server)).browser.cookie
})

after(() => stalls.stop())

function headersOf({ plane }: Route<unknown>): Record<string, string> {
  if (plane === 'session' || plane === 'playground') return { cookie, 'sec-fetch-site': 'same-origin' }
  return plane === 'admin' || plane === 'token'
    ? { authorization: `Bearer ${stalls.server.adminToken}` }
    : { 'sec-fetch-site': 'same-origin' }
}

function targetOf({ path }: Route<unknown>, bait: string): string {
  return path.replaceAll(/[:*][a-z_]+/gi, encodeURIComponent(bait.slice(0, 600)))
}

test(`no stall above ${STALL_MS_MAX} ms of CPU by the query, the path or the small body of any route that the server has`, async () => {
  assert.ok(routes.length > 120)
  for (const route of routes.filter(({ path }) => !path.includes('sign-out'))) {
    const headers = headersOf(route)
    if (route.body === 'none') {
      for (const bait of BAITS) {
        const query = NAMES.map((name) => `${name}=${encodeURIComponent(bait.slice(0, 300))}`).join('&')
        await stalls.checked(`${route.method} ${route.path}`, route.method, `${targetOf(route, bait)}?${query}`, {
          headers,
        })
      }
      continue
    }
    const text = 'a.'.repeat(BODY_CHARS / 2)
    const fields = ['email', 'password', 'token', 'name', 'code', 'amount'].map(
      (name) => `"${name}":"${text.slice(0, BODY_CHARS / 6 - 40)}"`,
    )
    for (const body of [
      `{${fields.join(',')}}`,
      `{"email":"${' '.repeat(BODY_CHARS)}x"}`,
      `{${Array.from({ length: 1_000 }, (_value, index) => `"k${index}":[]`).join(',')}}`,
    ]) {
      await stalls.checked(`${route.method} ${route.path}`, route.method, targetOf(route, 'x'), { headers, body })
    }
  }
})

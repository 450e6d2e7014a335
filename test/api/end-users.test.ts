import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConsoleClient, signedUp, topUp } from '../harness/console-client.ts'
import { gateway } from '../harness/gateway.ts'
import { refusedInWords as refused } from '../harness/refused.ts'

/** The end users whom requests name, in the log and in what was spent. */

const server = await gateway()
const { browser, accountId } = await signedUp(server)
await topUp(server, accountId, 1_000)
const { key } = (await browser.post('keys', { name: 'only' })).body

const MESSAGES = [{ role: 'user', content: 'x' }]
const CLAUDE = `user_${'a'.repeat(64)}_account_0b8a4d6e-5d9f-4a53-8d62-3f6a0c9e1f11`

async function send(path: string, body: object): Promise<void> {
  const answer = await server.post(path, key, body)
  assert.equal(answer.status, 200, answer.text)
}

const chat = (more: object): Promise<void> =>
  send('/v1/chat/completions', { model: 'sandbox/chat', messages: MESSAGES, ...more })

await chat({ user: 'ann' })
await chat({ user: 'ann', safety_identifier: 'another' })
await chat({ safety_identifier: 'Иван "50%_\\' })
await chat({})
await chat({ user: '\u202E ' })
await chat({ user: 'x'.repeat(200) })
await send('/v1/responses', { model: 'sandbox/chat', input: 'x', user: 'ann' })
for (const session of ['0b8a4d6e', '5d9f4a53'])
  await send('/v1/messages', {
    model: 'sandbox/chat',
    max_tokens: 10,
    messages: MESSAGES,
    metadata: { user_id: `${CLAUDE}_session_${session}` },
  })

const NAMED = new Map([
  ['ann', 3],
  ['Иван "50%_\\', 1],
  ['x'.repeat(128), 1],
  [CLAUDE, 2],
])

test('the log finds the requests of an end user, for the customer, the API and the operator', async () => {
  for (const [user, requests] of NAMED) {
    const query = `end_user=${encodeURIComponent(user)}`
    const own = (await browser.get(`log?${query}`)).body
    assert.deepEqual([own.data.length, own.next_cursor], [requests, null], user)
    assert.ok(own.data.every((row: { end_user: string }) => row.end_user === user))
    assert.equal((await browser.get(`log?${query}&status=completed&limit=300`)).body.data.length, requests)
    assert.equal((await browser.get(`log?${query}&status=error`)).body.data.length, 0)
    for (const path of [
      `/admin/v1/generations?account=${accountId}&${query}`,
      `/admin/v1/generations?${query}`,
      `/admin/v1/generations?account=${accountId}&model=sandbox/chat&${query}`,
    ]) {
      const { data, total } = (await server.admin('GET', path)).body
      assert.deepEqual([data.length, total, data[0].end_user], [requests, requests, user], path)
    }
    const listed = (await server.get(`/v1/generation?${query}`, key)).body
    assert.equal(listed.logs.length, requests)
    const one = (await server.get(`/v1/generation?id=${listed.logs[0].generation_id}`, key)).body
    assert.equal(one.data.external_user, user)
  }
  for (const user of ['nobody', 'ANN']) {
    assert.deepEqual((await browser.get(`log?end_user=${user}`)).body.data, [])
    assert.deepEqual((await server.admin('GET', `/admin/v1/generations?end_user=${user}`)).body.data, [], user)
  }
  assert.equal((await browser.get('log?limit=1')).body.data[0].end_user, CLAUDE)
})

test('pages of an end user go on by their cursor, with other filters too', async () => {
  for (const more of ['', '&status=completed']) {
    const first = (await browser.get(`log?end_user=ann&limit=2${more}`)).body
    assert.equal(first.data.length, 2)
    const next = (await browser.get(`log?end_user=ann&limit=2&cursor=${first.next_cursor}${more}`)).body
    assert.deepEqual([next.data.length, next.next_cursor], [1, null])
    const path = `/admin/v1/generations?account=${accountId}&end_user=ann&limit=2${more}`
    const begun = (await server.admin('GET', path)).body
    const rest = (await server.admin('GET', `${path}&cursor=${begun.next_cursor}`)).body
    assert.deepEqual([begun.total, begun.data.length, rest.data.length], [3, 2, 1])
    assert.equal((await server.admin('GET', `${path}&offset=2`)).body.data.length, 1)
  }
  const csv = (await browser.get('log.csv?end_user=ann')).text.trim().split(/\r?\n/)
  assert.equal(csv.length, 4)
  assert.match(csv[0] ?? '', /end_user/)
})

test('what was spent is split by end user, by day and by hour, and its sums are those of every other split', async () => {
  for (const path of ['usage', 'usage/hours']) {
    const { groups, totals, cells, days, hours } = (await browser.get(`${path}?group_by=end_user`)).body
    const all = (await browser.get(`${path}?group_by=model`)).body
    assert.deepEqual(totals, all.totals)
    assert.deepEqual(days ?? hours, all.days ?? all.hours)
    assert.deepEqual(
      new Map(groups.map(({ id, requests }: { id: string; requests: number }) => [id, requests])),
      new Map([...NAMED, ['', 2]]),
    )
    const micro = (rows: readonly { cost: number }[]): number =>
      rows.reduce((sum, { cost }) => sum + Math.round(cost * 1e6), 0)
    assert.equal(micro(groups), micro([totals]))
    assert.equal(micro(cells), micro([totals]))
    assert.ok(micro([totals]) > 0)
  }
})

test('the operator has the same of one account, and of who made the keys', async () => {
  const path = '/admin/v1/usage?group_by='
  refused(await server.admin('GET', `${path}end_user`), 400, 'invalid_input', /^account: /)
  for (const time of ['-271821-04-20', '%2B275760-09-13'])
    refused(await server.admin('GET', `${path}model&to=${time}T00:00:00Z`), 400, 'invalid_input', /^to: /)
  const { data } = (await server.admin('GET', `${path}end_user&account=${accountId}`)).body
  const own = (await browser.get('usage?group_by=end_user')).body.groups
  assert.deepEqual(
    new Map(data.map((row: Record<string, unknown>) => [row['end_user'], [row['requests'], row['revenue']]])),
    new Map(
      own
        .filter(({ id }: { id: string }) => id !== '')
        .map(({ id, requests, cost }: Record<string, unknown>) => [id, [requests, cost]]),
    ),
  )
  for (const query of ['group_by=end_user', 'group_by=person', '']) {
    const of = await server.admin('GET', `/admin/v1/accounts/${accountId}/usage?${query}`)
    assert.deepEqual(of.body, (await browser.get(`usage?${query}`)).body)
  }
  refused(await server.admin('GET', '/admin/v1/accounts/acc_none/usage'), 404, 'not_found')
  const [person] = (await server.admin('GET', `${path}person&account=${accountId}`)).body.data
  assert.match(person.person, /^usr_/)
  assert.equal(person.requests, 9)
})

test('beyond the fifty most expensive, end users are one group', async () => {
  const other = await signedUp(server, 'many@example.com')
  await topUp(server, other.accountId, 1_000)
  const own = (await other.browser.post('keys', { name: 'k' })).body.key
  for (let index = 0; index < 53; index += 1) {
    const body = { model: 'sandbox/chat', messages: MESSAGES, user: `u${index}` }
    assert.equal((await server.post('/v1/chat/completions', own, body)).status, 200)
  }
  for (const path of ['usage', 'usage/hours']) {
    const { groups, totals } = (await other.browser.get(`${path}?group_by=end_user`)).body
    const rest = groups.find(({ id }: { id: string }) => id === '…rest')
    assert.deepEqual([groups.length, rest.requests, totals.requests], [51, 3, 53])
  }
})

test("no other account finds an end user's requests", async () => {
  const stranger = await signedUp(server, 'stranger@example.com')
  assert.deepEqual((await stranger.browser.get('log?end_user=ann')).body.data, [])
  refused(await new ConsoleClient(server).get('log?end_user=ann'), 401, 'unauthorized')
})

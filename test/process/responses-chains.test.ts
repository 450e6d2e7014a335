import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Answer } from '../harness/api-client.ts'
import { form } from '../harness/form.ts'
import { until } from '../harness/patience.ts'
import { type FoldedResponse, respond } from '../harness/protocol-folds.ts'
import { serveResponses, tollgate } from '../harness/responses-world.ts'

await serveResponses()

/** A turn's contents are read in parts of 100. */
const TURNS = form({ short: 120, long: 1_001 })
/** A request continues at most as many. */
const TURNS_MAX = 1_000
const BALANCE = 100_000

type Account = Awaited<ReturnType<typeof tollgate.createAccount>>

function anAccount(): Promise<Account> {
  return tollgate.createAccount({ balance: BALANCE, account: { rate_limit: { requests: 100_000, window: 60 } } })
}

/** What the answers of the test have cost. */
let spentMicro = 0

async function answered({ key }: Account, body: Record<string, unknown>): Promise<FoldedResponse> {
  const answer = await respond(tollgate.url, key, { model: 'test/sandbox', max_output_tokens: 8, ...body })
  assert.equal(answer.status, 200, answer.raw)
  spentMicro += Math.round(answer.response.usage.cost * 1e6)
  return answer
}

function items({ key }: Account, id: unknown, query: string): Promise<Answer> {
  return tollgate.get(`/v1/responses/${String(id)}/input_items?${query}`, key)
}

/** All of the list, a page at a time. */
async function listed(account: Account, id: unknown, order: string, limit: number): Promise<readonly unknown[]> {
  const all: { id: string }[] = []
  for (let after = ''; ;) {
    const { status, body } = await items(account, id, `order=${order}&limit=${limit}${after}`)
    assert.equal(status, 200, JSON.stringify(body))
    assert.ok(body.data.length === limit || !body.has_more)
    assert.deepEqual([body.first_id, body.last_id], [body.data[0]?.id ?? null, body.data.at(-1)?.id ?? null])
    all.push(...body.data)
    if (!body.has_more) return all
    after = `&after=${body.last_id}`
  }
}

test(`a conversation of ${TURNS} turns: each is paid with those before it, listed in pages of any size, and ends where one is removed`, async () => {
  const account = await anAccount()
  const ids: string[] = []
  const said: string[] = []
  let tokens = 0
  for (let turn = 0; turn < TURNS; turn += 1) {
    const { response, text } = await answered(account, {
      input: `turn ${turn}`,
      store: true,
      ...(turn === 0 ? {} : { previous_response_id: ids.at(-1) }),
    })
    assert.ok(response.usage.input_tokens > tokens)
    tokens = response.usage.input_tokens
    ids.push(response.id)
    said.push(`turn ${turn}`, text)
  }
  const last = ids.at(-1)
  if (TURNS > TURNS_MAX) {
    const next = await respond(tollgate.url, account.key, {
      model: 'test/sandbox',
      input: 'x',
      previous_response_id: last,
    })
    assert.deepEqual([next.status, next.response.error.metadata.error_type], [400, 'invalid_input'])
    assert.match(next.response.error.message, /more than 1000 turns\. Begin another one/)
  }
  const ascending = await listed(account, last, 'asc', 100)
  const textOf = (item: unknown): unknown => (item as { content: [{ text: string }] }).content[0].text
  assert.deepEqual(ascending.map(textOf), said.slice(0, -1))
  assert.deepEqual((await listed(account, last, 'desc', 77)).toReversed(), ascending)
  const unknown = await items(account, last, 'after=msg-0-in0')
  assert.deepEqual([unknown.status, /after: must be the id of an item/.test(unknown.text)], [400, true])

  const middle = Math.floor(TURNS / 2)
  await tollgate.request('DELETE', `/v1/responses/${String(ids[middle])}`, { key: account.key })
  for (const [after, status] of [
    [middle - 1, 200],
    [middle, 400],
    [middle + 1, 400],
    [TURNS - 1, 400],
  ] as const) {
    const body = { input: 'x', previous_response_id: ids[after] }
    if (status === 200) await answered(account, body)
    else assert.equal((await respond(tollgate.url, account.key, { model: 'test/sandbox', ...body })).status, status)
  }
  // What is left of a conversation is still listed.
  assert.deepEqual((await listed(account, last, 'asc', 100)).map(textOf), said.slice(2 * (middle + 1), -1))
  const record = (): Promise<Answer> => tollgate.admin('GET', `/admin/v1/accounts/${account.id}`)
  await until(10_000, 'no hold is left', async () => (await record()).body.reserved === 0)
  assert.equal(Math.round((await record()).body.balance * 1e6), BALANCE * 1e6 - spentMicro)
})

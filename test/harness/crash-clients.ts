import assert from 'node:assert/strict'
import { request } from 'undici'
import type { ApiClient } from './api-client.ts'
import { foldStream } from './chat-fold.ts'
import { form } from './form.ts'
import { paced } from './paced.ts'
import { until } from './patience.ts'

/** Clients that leave some CPU time free, with answers that last as long: as many are running when something dies. */
const { pauseMs: PAUSE_MS, gapMs: GAP_MS } = form({
  short: { pauseMs: 40, gapMs: 20 },
  long: { pauseMs: 0, gapMs: 1 },
  chaos: { pauseMs: 0, gapMs: 1 },
})

/** A crash must not lose it: RUB × 10⁶ on the account of the clients of a crash test. */
export const CRASH_BALANCE_MICRO = 1_000_000_000

interface Seen {
  readonly id: string
  readonly cost: number
}

/** Facts that the clients of all rounds collect: answers whose end arrived, and streams that broke before it. */
export interface Observed {
  readonly whole: Seen[]
  readonly broken: Set<string>
}

/** Of all keys of an account; a program before it has no such thing. */
export const CRASH_LIMIT = { limit: 900, limit_reset: 'daily' } as const

/** An account for the clients, without limits that they would meet. */
export function crashAccount(
  tollgate: ApiClient,
  limit: Partial<typeof CRASH_LIMIT> = CRASH_LIMIT,
): ReturnType<ApiClient['createAccount']> {
  return tollgate.createAccount({
    balance: CRASH_BALANCE_MICRO / 1e6,
    account: { rate_limit: { requests: 100_000, window: 60 }, ...limit },
    key: { limit: 900, limit_reset: 'monthly' },
  })
}

/** Asks the current server until it is stopped; records how each answer ended. */
export async function crashClient(
  target: () => ApiClient | undefined,
  key: string,
  number: number,
  record: Observed,
  stopped: { readonly now: boolean },
): Promise<void> {
  for (let turn = 0; !stopped.now; turn += 1) {
    const stream = (turn + number) % 2 === 0
    const words = 5 + (turn % 20)
    const content = `client ${number}\nsandbox: words=${words} gap_ms=${stream ? GAP_MS : 0}`
    const body = JSON.stringify({
      model: 'sandbox/chat',
      stream,
      max_tokens: 100,
      messages: [{ role: 'user', content }],
    })
    // The connection dies with the server: the part received by then is still checked.
    const tollgate = target()
    const answer = tollgate === undefined ? null : await ask(tollgate, key, body).catch(() => null)
    if (answer === null || answer.status !== 200) await paced(1, 'a server that is gone is asked again')
    else if (stream) recordStream(record, answer, words)
    else if (answer.ended) recordPlain(record, answer.text)
    await paced(PAUSE_MS, 'the pace of a client')
  }
}

/** Until the clients have seen so many more answers whole. */
export function answersSeen({ whole }: Observed, more: number): Promise<number> {
  const before = whole.length
  return until(30_000, `${more} answers are seen`, () => whole.length >= before + more)
}

interface RawAnswer {
  readonly status: number
  readonly id: string
  readonly text: string
  /** The body came to its end as its framing says. */
  readonly ended: boolean
}

async function ask(tollgate: ApiClient, key: string, body: string): Promise<RawAnswer> {
  const answer = await request(`${tollgate.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body,
  })
  let text = ''
  let ended = true
  try {
    for await (const chunk of answer.body) text += String(chunk)
  } catch {
    ended = false
  }
  return { status: answer.statusCode, id: String(answer.headers['x-generation-id']), text, ended }
}

function recordStream(record: Observed, answer: RawAnswer, words: number): void {
  // The last event may be cut in the middle.
  const { done, error, usage, choices } = foldStream(
    answer.status,
    answer.text.slice(0, answer.text.lastIndexOf('\n\n') + 2),
    {},
  )
  assert.ok(!answer.ended || done, 'a stream that its server never finished does not end as if it were whole')
  const received = (choices.get(0)?.text ?? '').split(' ').filter((word) => word !== '').length
  if (done && error === null) record.whole.push({ id: answer.id, cost: Number(usage?.['cost']) })
  // The settle begins after the last word was sent, so that word and the end may be lost after it.
  else if (received < words - 1) record.broken.add(answer.id)
}

function recordPlain(record: Observed, text: string): void {
  const { id, usage } = JSON.parse(text)
  record.whole.push({ id, cost: usage.cost })
}

/**
 * The audit is clean, every answer whose end a client saw is charged once at its stated cost, and no cut one is
 * charged.
 */
export async function checkMoney(
  tollgate: ApiClient,
  account: { readonly id: string; readonly keyId: string },
  { whole, broken }: Observed,
): Promise<void> {
  const audit = await tollgate.admin('GET', '/admin/v1/audit')
  assert.equal(audit.body.violations, 0, audit.text)
  const rows = await generations(tollgate, account.id)
  const charged = new Map(rows.filter((row) => row.total_cost > 0).map((row) => [row.generation_id, row]))
  assert.equal(new Set(whole.map(({ id }) => id)).size, whole.length, 'no id is given twice')
  for (const { id, cost } of whole) assert.equal(charged.get(id)?.total_cost, cost, `answer ${id}`)
  for (const id of broken) assert.equal(charged.get(id), undefined, `the broken stream ${id} was charged`)
  assert.deepEqual(
    [...charged.values()].filter(({ status }) => status !== 'completed'),
    [],
    'only complete answers are charged',
  )
  const sumMicro = [...charged.values()].reduce((total, row) => total + Math.round(row.total_cost * 1e6), 0)
  const { body: record } = await tollgate.admin('GET', `/admin/v1/accounts/${account.id}`)
  assert.equal(Math.round(record.balance * 1e6), CRASH_BALANCE_MICRO - sumMicro)
  assert.equal(record.reserved, 0, 'no hold is left')
  const { body: keys } = await tollgate.admin('GET', `/admin/v1/accounts/${account.id}/keys`)
  assert.equal(Math.round(keys.data[0].usage_monthly * 1e6), sumMicro, 'the key has spent what was charged')
}

interface LogRow {
  readonly generation_id: string
  readonly total_cost: number
  readonly status: string
}

async function generations(tollgate: ApiClient, account: string): Promise<LogRow[]> {
  const rows: LogRow[] = []
  for (;;) {
    const page = await tollgate.admin(
      'GET',
      `/admin/v1/generations?account=${account}&limit=1000&offset=${rows.length}`,
    )
    rows.push(...page.body.data)
    if (page.body.data.length < 1_000) return rows
  }
}

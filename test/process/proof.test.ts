import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { audioForm, wavFile } from '../harness/audio-files.ts'
import { NodeBench } from '../harness/node-bench.ts'
import { startTollgate, type Tollgate } from '../harness/server.ts'
import { createVideo, videoUntil } from '../harness/video-jobs.ts'
import { until } from '../harness/patience.ts'

/**
 * The charges of every kind are computed again from the log, over changes of prices and rates, and compared with a
 * provider's bill.
 */

const COMMAND = join(import.meta.dirname, '../../bin/tollgate.js')
const DAY_MS = 86_400_000
const KINDS = ['chat', 'embeddings', 'image', 'moderation', 'rerank', 'transcription', 'tts', 'video']

function catalogue(price: string): string {
  return `
markup: 1.3337
rates: { USD: 91.2345678 }
providers:
  box: { name: Box, adapter: sandbox }
models:
  - { id: own/chat, type: chat, context_length: 10000, max_completion_tokens: 500, tokenizer: o200k_base, endpoints: [{ provider: box, model: chat, price: { currency: USD, prompt: ${price}, completion: 7.77 } }] }
  - { id: own/embeddings, type: embeddings, context_length: 8000, endpoints: [{ provider: box, model: embeddings, price: { currency: USD, prompt: ${price} } }] }
  - { id: own/rerank, type: rerank, context_length: 8000, endpoints: [{ provider: box, model: rerank, price: { currency: USD, search: ${price} } }] }
  - { id: own/moderation, type: moderation, endpoints: [{ provider: box, model: moderation, price: { currency: USD, request: ${price} } }] }
  - { id: own/image, type: image, endpoints: [{ provider: box, model: image, price: { currency: USD, image_output: ${price} } }] }
  - { id: own/tts, type: tts, endpoints: [{ provider: box, model: tts, price: { currency: USD, characters: ${price} } }] }
  - { id: own/transcription, type: transcription, endpoints: [{ provider: box, model: transcription, price: { currency: USD, second: ${price} } }] }
  - { id: own/video, type: video, supported_durations: [4, 8], supported_resolutions: [720p, 1080p], endpoints: [{ provider: box, model: video, price: { currency: USD, video_second: { 720p: ${price}, 1080p: 0.75 } } }] }
`
}

describe('embedded store', () =>
  proof(
    () => startTollgate({ catalog: catalogue('0.0731') }),
    async (tollgate) => tollgate.stop(),
  ))
describe('PostgreSQL', () => {
  let bench: NodeBench | null = null
  const env: Record<string, string> = { TOLLGATE_KEK: randomBytes(32).toString('base64') }
  proof(
    async () => {
      bench = await NodeBench.start({ valkey: false })
      if (bench === null) return null
      env['DATABASE_URL'] = await bench.newDatabase()
      return bench.node(env['DATABASE_URL'], { catalog: catalogue('0.0731'), env })
    },
    async () => bench?.stop(),
    env,
  )
})

function proof(
  start: () => Promise<Tollgate | null>,
  stop: (tollgate: Tollgate) => Promise<void>,
  env: Readonly<Record<string, string>> = {},
): void {
  let tollgate: Tollgate | null = null
  let key = ''
  let between = ''
  before(async () => {
    tollgate = await start()
    if (tollgate === null) return
    key = (await tollgate.createAccount({ balance: 1_000 })).key
    await everyKind(tollgate, key)
    // A millisecond after every charge so far.
    const charged = Date.now()
    await until(1_000, 'time has passed', () => Date.now() > charged + 1)
    between = new Date().toISOString()
    // First the rate, then a price: two versions.
    assert.equal((await tollgate.admin('PATCH', '/admin/v1/settings', { rates: { USD: '97.531' } })).status, 200)
    const model = {
      type: 'chat',
      context_length: 10_000,
      max_completion_tokens: 500,
      tokenizer: 'o200k_base',
      endpoints: [{ provider: 'box', model: 'chat', price: { currency: 'USD', prompt: '3.3', completion: '11.1' } }],
    }
    assert.equal((await tollgate.admin('PUT', '/admin/v1/models/own/chat', model)).status, 200)
    await everyKind(tollgate, key)
  })
  after(async () => {
    if (tollgate !== null) await stop(tollgate)
  })
  const command = (server: Tollgate, words: readonly string[]): ReturnType<typeof runCommand> =>
    runCommand(server, words, env)
  const checked = (name: string, body: (server: Tollgate) => Promise<void>): void => {
    test(name, async (context) => {
      if (tollgate === null) return context.skip('no PostgreSQL on this machine')
      return body(tollgate)
    })
  }

  checked('every kind replays to the last digit, over a change of rates and one of prices', async (server) => {
    const { body, text } = await server.admin('GET', '/admin/v1/audit/replay')
    assert.ok(body.ok, text)
    assert.deepEqual(
      body.types.map(({ type, rows }: { type: string; rows: number }) => [type, rows]),
      KINDS.map((kind) => [kind, kind === 'video' ? 4 : 2]),
    )
    assert.deepEqual(
      body.price_versions.map(({ rates }: { rates: Record<string, string> }) => rates['USD']),
      ['91.2345678', '97.531'],
    )
    const { body: balance } = await server.get('/v1/user/balance', key)
    assert.equal(Math.round((balance.balance + body.charged) * 1e6), 1_000e6)
    assert.equal(body.without_log.rows, 0)
  })

  checked('a period has its own requests alone', async (server) => {
    const [early, late] = await Promise.all(
      [`to=${between}`, `from=${between}`].map(
        async (range) => (await server.admin('GET', `/admin/v1/audit/replay?${range}`)).body,
      ),
    )
    assert.deepEqual([early.ok, early.rows, early.price_versions.length], [true, 9, 1])
    assert.deepEqual([late.ok, late.rows, late.price_versions.length], [true, 9, 1])
    const answer = await server.admin('GET', `/admin/v1/audit/replay?from=${between}&to=2020-01-01T00:00:00Z`)
    assert.deepEqual([answer.status, answer.body.error.message], [400, 'from: must not be after to'])
  })

  checked('the command prints it, and exits with 0', async (server) => {
    const { code, stdout } = await command(server, ['audit', '--replay', '--from', between])
    assert.equal(code, 0, stdout)
    assert.match(stdout, /^chat: 1 charges, [\d.]+ RUB, provider cost [\d.]+ RUB$/m)
    assert.match(stdout, /^price version \d+: 9 charges, USD 97\.531$/m)
    assert.match(stdout, /^9 charges of [\d.]+ RUB replayed, 0 differ$/m)
    assert.equal((await command(server, ['audit', '--from', between])).code, 2)
  })

  checked(
    "a provider's bill that says the same matches, by day and model, in its own words and currency",
    async (server) => {
      const costs = await providerCosts(server)
      const usd = ((costs.get('embeddings') ?? 0) / 97.531).toFixed(12)
      const day = new Date().toISOString().slice(0, 10)
      const lines = [...costs]
        .filter(([model]) => model !== 'embeddings')
        .map(([model, cost]) => `"RUB";${day};"${model}";${String(cost).replace('.', ',')}`)
      const csv = [
        '\uFEFFCurrency;Usage Date;Model;Cost',
        ...lines,
        `USD;${day}T00:00:00Z;Embeddings-2026-01-02;${usd.replace('.', ',')}`,
        'Total;;;1',
      ].join('\r\n')
      const { body, text } = await server.admin('POST', '/admin/v1/reconciliations', {
        provider: 'box',
        csv,
        tolerance: 0.01,
      })
      assert.ok(body.ok, text)
      assert.equal(body.data.length, KINDS.length)
      assert.equal(body.totals.ours, Math.round([...costs.values()].reduce((sum, cost) => sum + cost, 0) * 1e6) / 1e6)
    },
  )

  checked('what differs is said: by day and model, more, less, not billed, not ours', async (server) => {
    const costs = await providerCosts(server)
    const day = new Date().toISOString().slice(0, 10)
    const cost = (model: string, times: number): string => ((costs.get(model) ?? 0) * times).toFixed(6)
    const csv = `model,date,amount_rub\nvideo,${day},${cost('video', 1.02)}\nimage,${day},${cost('image', 0.9)}\nstrange,${day},5\nown/chat,${day},${cost('chat', 1)}\n`
    const { body } = await server.admin('POST', '/admin/v1/reconciliations', { provider: 'box', csv })
    const verdicts = Object.fromEntries(
      body.data.map((row: { model: string; verdict: string }) => [row.model, row.verdict]),
    )
    assert.equal(body.ok, false)
    assert.deepEqual(
      [verdicts.video, verdicts.image, verdicts.strange, verdicts.chat, verdicts.rerank],
      ['billed_more', 'billed_less', 'not_ours', 'match', 'not_billed'],
    )
    assert.equal(body.data.find((row: { model: string }) => row.model === 'video').difference_percent, 2)
    const events = await server.admin('GET', '/admin/v1/events?action=provider.reconcile')
    assert.equal(events.body.data[0].after.ok, false)
  })

  checked('a month is compared with all of its days, and the command says what differs', async (server) => {
    const costs = await providerCosts(server)
    const file = join(server.dataDir, 'bill.csv')
    await writeFile(
      file,
      [
        'Month,Model,Total',
        ...[...costs].map(([model, cost]) => `${new Date().toISOString().slice(0, 7)},${model},${cost}`),
      ].join('\n'),
    )
    const same = await command(server, ['reconcile', file, '--provider', 'box', '--currency', 'RUB'])
    assert.equal(same.code, 0, same.stdout + same.stderr)
    await writeFile(
      file,
      `Month,Model,Total\n${new Date(Date.now() + 40 * DAY_MS).toISOString().slice(0, 7)},chat,12.5\n`,
    )
    const other = await command(server, ['reconcile', file, '--provider', 'box', '--currency', 'RUB', '--json'])
    assert.deepEqual([other.code, JSON.parse(other.stdout).data[0].verdict], [1, 'not_ours'])
  })

  checked(
    'lines whose days overlap, such as a month and a correction of one of its days, stand against what is ours once',
    async (server) => {
      const costs = await providerCosts(server)
      const day = new Date().toISOString().slice(0, 10)
      const cost = costs.get('video') ?? 0
      const csv = `model,date,amount_rub\nvideo,${day.slice(0, 7)},${(cost + 1).toFixed(6)}\nvideo,${day},-1\nchat,${day},${(costs.get('chat') ?? 0).toFixed(6)}\n`
      const { body } = await server.admin('POST', '/admin/v1/reconciliations', { provider: 'box', csv })
      const rows = body.data.filter(({ model }: { model: string }) => model === 'video')
      assert.deepEqual(
        rows.map(({ ours, theirs, verdict }: Record<string, unknown>) => [ours, theirs, verdict]),
        [[cost, cost, 'match']],
      )
      assert.equal(body.totals.ours, Math.round([...costs.values()].reduce((sum, each) => sum + each, 0) * 1e6) / 1e6)
    },
  )

  checked('a file that cannot be read says which line and column', async (server) => {
    for (const [csv, message] of [
      ['', 'csv: must not be empty'],
      [
        'a,b\n1,2',
        "csv: line 1: no column of the period: expected one of period, date, day, usage_date, start_date, start_time, start, timestamp, time, month, got 'a', 'b'",
      ],
      [
        'date,model,cost_usd\n2026-11-01,m,1\n"2026-\n11",m,2',
        "csv: line 3, column 1: the date must be a day such as 2026-11-20, a month such as 2026-11, or two days such as 2026-11-01/2026-11-30, got '2026-\n11'",
      ],
      ['date,model,cost\n2026-11-01,,1', "csv: line 2, column 2: the model must be a name, got ''"],
      [
        'date,model,cost\n2026-11-01,m,"1,5"',
        "csv: line 2, column 3: the amount must be a number such as 1234.56, got '1,5'",
      ],
      [
        'date,model,cost\n2026-11-01,m,1',
        'csv: line 2: no currency: the file has no column of it, so name it beside the file',
      ],
      [
        'date,model,cost,currency\n2026-11-01,m,1,dollars',
        "csv: line 2, column 4: the currency must be a code such as USD, got 'dollars'",
      ],
      ['date,model,cost,currency\n2026-11-01,m,1,EUR', 'csv: line 2: no rate of EUR was in force on 2026-11-01'],
      ['date,model,cost_usd\n2026-11-01,"m,1', 'csv: line 2: a quotation mark is never closed'],
    ] as const) {
      const answer = await server.admin('POST', '/admin/v1/reconciliations', { provider: 'box', csv })
      assert.equal(answer.status, 400, csv)
      if (csv !== '') assert.equal(answer.body.error.message, message)
    }
    assert.equal(
      (
        await server.admin('POST', '/admin/v1/reconciliations', {
          provider: 'nobody',
          csv: 'date,model,cost_usd\n2026-11-01,m,1',
        })
      ).status,
      404,
    )
    assert.equal(
      (await server.admin('POST', '/admin/v1/reconciliations', { provider: 'box', csv: 'x', tolerance: 100.5 })).status,
      400,
    )
  })
}

/** Provider cost in RUB by the provider's name of the model. */
async function providerCosts(server: Tollgate): Promise<Map<string, number>> {
  const { body } = await server.admin('GET', '/admin/v1/usage?group_by=model')
  return new Map(
    body.data.map((row: { model: string; provider_cost: number; insured: number }) => [
      row.model.replace('own/', ''),
      row.provider_cost + row.insured,
    ]),
  )
}

async function everyKind(server: Tollgate, key: string): Promise<void> {
  const post = async (path: string, body: unknown, headers: Record<string, string> = {}): Promise<void> => {
    const answer = await server.request('POST', path, { key, body, headers })
    assert.equal(answer.status, 200, answer.text)
  }
  await post('/v1/chat/completions', {
    model: 'own/chat',
    messages: [{ role: 'user', content: 'Say something about the weather' }],
    max_tokens: 37,
  })
  await post('/v1/embeddings', { model: 'own/embeddings', input: 'a text of seven words or so' })
  await post('/v1/rerank', { model: 'own/rerank', query: 'one', documents: ['one', 'two'] })
  await post('/v1/moderations', { model: 'own/moderation', input: ['one', 'two'] })
  await post('/v1/images/generations', { model: 'own/image', prompt: 'a lighthouse' })
  await post('/v1/audio/speech', { model: 'own/tts', input: 'seventeen letters', voice: 'alloy' })
  const form = audioForm({ model: 'own/transcription' }, { bytes: wavFile(1.3) })
  await post('/v1/audio/transcriptions', form.body, form.headers)
  for (const resolution of ['720p', '1080p']) {
    const { id } = await createVideo(server, key, { model: 'own/video', prompt: 'sea', duration: 4, resolution })
    await videoUntil(server, key, id, 'completed')
  }
}

/** Through the server that holds the embedded store, or on the database itself. */
function runCommand(
  server: Tollgate,
  words: readonly string[],
  more: Readonly<Record<string, string>>,
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  const env = {
    PATH: process.env['PATH'] ?? '',
    TOLLGATE_URL: server.url,
    TOLLGATE_ADMIN_TOKEN: server.adminToken,
    TOLLGATE_DATA: server.dataDir,
    ...more,
  }
  return new Promise((resolve) => {
    execFile(process.execPath, [COMMAND, ...words], { env, cwd: server.dataDir }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
    )
  })
}

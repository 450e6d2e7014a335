import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noticeText } from '../../src/notices/notice-text.ts'
import { NOTICE_KINDS } from '../../src/tables/notice-table.ts'
import type { Answer } from '../harness/api-client.ts'
import { gateway } from '../harness/gateway.ts'
import { mailSettings, startMailServer } from '../harness/mail-server.ts'
import { until } from '../harness/patience.ts'
import { listen } from '../harness/scripted-upstream.ts'

/** E-mail and Telegram: a real mail server and a receiver of bots' messages on loopback. */
const BOT = '123456:ABC-DEF1234ghIkl-zyx57W2v1u123ew11'
const HOSTILE =
  'Evil\r\nBcc: victim@example.com\r\n\r\n<script>alert(1)</script> *bold* [x](http://evil.example)\u202E\u200B'

const chats: { readonly path: string; readonly body: Readonly<Record<string, unknown>> }[] = []
let telegramAnswer: { readonly status: number; readonly body: string } = { status: 200, body: '{"ok":true}' }
const telegram = await listen((response, { path, json }) => {
  chats.push({ path, body: json as Readonly<Record<string, unknown>> })
  response.writeHead(telegramAnswer.status).end(telegramAnswer.body)
})

const mail = await startMailServer({ user: 'tollgate', password: 'lanterns' })
const tollgate = await gateway({
  env: {
    ...mailSettings(mail),
    SMTP_USER: 'tollgate',
    SMTP_PASSWORD: 'lanterns',
    TELEGRAM_BOT_TOKEN: BOT,
    TELEGRAM_API_URL: telegram.url,
    TOLLGATE_PUBLIC_URL: 'https://ai.example.com',
  },
})
function addChannel(fields: Readonly<Record<string, unknown>>): Promise<Answer> {
  return tollgate.admin('POST', '/admin/v1/notices/channels', fields)
}

/** The newest message to a channel. */
async function delivery(channelId: string): Promise<Readonly<Record<string, unknown>>> {
  const { body } = await tollgate.admin('GET', '/admin/v1/notices/deliveries?limit=1000')
  // The contract's type.
  const { data } = body as unknown as { readonly data: readonly Readonly<Record<string, unknown>>[] }
  return data.find((row) => row['channel'] === channelId) ?? {}
}

test('a low balance arrives by e-mail in Russian and by Telegram in English; hostile names stay words', async () => {
  const kinds = ['balance.low']
  const byMail = await addChannel({ type: 'email', target: 'ops@example.com', kinds, language: 'ru' })
  const byChat = await addChannel({ type: 'telegram', target: '-1001234', kinds })
  assert.deepEqual([byMail.status, byMail.body.secret, byChat.status], [201, null, 201])
  const account = await tollgate.admin('POST', '/admin/v1/accounts', { name: HOSTILE })
  const book = (kind: string, amount: number): Promise<Answer> =>
    tollgate.admin('POST', `/admin/v1/accounts/${String(account.body.id)}/ledger`, {
      kind,
      amount,
      reason: 'test',
      reference: `people-${amount}`,
    })
  assert.equal((await book('topup', 1_150)).status, 201)
  assert.equal((await book('adjustment', -1_060.5)).status, 201)
  await until(20_000, 'both have arrived', async () => mail.received.length === 1 && chats.length === 1)
  const [first] = mail.received
  assert.ok(first !== undefined)
  assert.deepEqual([first.from, first.to], ['tollgate@example.com', ['ops@example.com']])
  assert.equal(first.headers.get('bcc'), undefined)
  assert.match(first.headers.get('content-type') ?? '', /^text\/plain/)
  assert.match(first.headers.get('subject') ?? '', /^Баланс на исходе: Evil Bcc: victim@example\.com <script>/)
  assert.match(first.text, /Баланс 89,50\u00A0₽, это меньше 100,00\u00A0₽\./)
  assert.match(first.text, /https:\/\/ai\.example\.com\r?\n/)
  const [chat] = chats
  assert.equal(chat?.path, `/bot${BOT}/sendMessage`)
  assert.deepEqual(Object.keys(chat.body), ['chat_id', 'text', 'link_preview_options'], 'no parse mode: plain text')
  assert.equal(chat.body['chat_id'], '-1001234')
  const text = String(chat.body['text'])
  assert.match(text, /The balance is ₽89\.50, below ₽100\.00\./)
  assert.match(text, /^Account: Evil Bcc: victim@example\.com <script>.*\(acc_/m)
  assert.doesNotMatch(text, /[\r\u202E\u200B]/)
  const { notice } = await delivery(String(byMail.body.id))
  const { id } = notice as { readonly id: string }
  assert.equal(first.headers.get('message-id'), `<${id}@example.com>`)
})

test('what a mail server or a bot refuses is tried again, with a reason that holds no secret', async () => {
  const byMail = await addChannel({ type: 'email', target: 'gone@example.com', kinds: [] })
  const byChat = await addChannel({ type: 'telegram', target: '7', kinds: [] })
  mail.answer = { code: 550 }
  telegramAnswer = { status: 403, body: 'x'.repeat(5_000_000) }
  for (const { body } of [byMail, byChat])
    await tollgate.admin('POST', `/admin/v1/notices/channels/${String(body.id)}/test`, {})
  for (const [{ body }, error] of [
    [byMail, 'the mail server answered 550'],
    [byChat, 'it answered 403'],
  ] as const) {
    await until(20_000, 'it has failed', async () => typeof (await delivery(String(body.id)))['error'] === 'string')
    assert.equal((await delivery(String(body.id)))['error'], error)
  }
  mail.answer = null
  telegramAnswer = { status: 200, body: '{"ok":true}' }
  const { id } = await delivery(String(byMail.body.id))
  await tollgate.admin('POST', `/admin/v1/notices/deliveries/${String(id)}/replay`, {})
  await until(20_000, 'it is sent', async () => (await delivery(String(byMail.body.id)))['state'] === 'sent')
  assert.equal(mail.received.at(-1)?.headers.get('subject'), 'A test')
  assert.ok(!tollgate.logs().some((line) => line.includes(BOT) || line.includes('lanterns')))
})

test('a chat that is asked for too often rests as long as the bot is told, with its other messages', async () => {
  const { body } = await addChannel({ type: 'telegram', target: '8', kinds: [] })
  telegramAnswer = { status: 429, body: '{"ok":false,"error_code":429,"parameters":{"retry_after":600}}' }
  const send = (): Promise<Answer> => tollgate.admin('POST', `/admin/v1/notices/channels/${String(body.id)}/test`, {})
  await send()
  await until(20_000, 'it is refused', async () => typeof (await delivery(String(body.id)))['error'] === 'string')
  telegramAnswer = { status: 200, body: '{"ok":true}' }
  const { due_at: due, error } = await delivery(String(body.id))
  assert.equal(error, 'it answered 429')
  const leftMs = Date.parse(String(due)) - Date.now()
  assert.ok(leftMs > 500_000 && leftMs <= 600_000, `${leftMs} ms`)
})

test('an address that mail cannot be sent to, or a chat without a number, is refused', async () => {
  for (const target of [
    'nobody',
    'a,b@example.com',
    'a@example.com\r\nBcc: b@example.com',
    '"a b"@example.com',
    'a@b@c.d',
    '<a@b.c>',
  ])
    assert.equal((await addChannel({ type: 'email', target, kinds: [] })).status, 400, target)
  for (const target of ['@channel', '12a', '', '0', '1'.repeat(30)])
    assert.equal((await addChannel({ type: 'telegram', target, kinds: [] })).status, 400, target)
})

test('each kind has a text in both languages, without a value that is missing', () => {
  const detail = {
    balance: 1,
    threshold: 2,
    currency: 'CNY',
    changes: 3,
    accounts: 2,
    key: 'key_1',
    keys: 2,
    limit: 3,
    limit_reset: 'daily',
    spent: 2.5,
    job: 'gen-1',
    model: 'a/b',
    status: 'completed',
    provider: 'acme',
    requests: 10,
    flagged: 1,
    generation: 'gen-2',
    shortfall: 0.5,
    checks: ['I1'],
    error_type: 'limit_exceeded',
    action: 'rates.failed',
    reason: 'it answered 500',
    from: Date.UTC(2027, 0, 2),
    models: [{ model: 'a/b', prices: [{ price: 'prompt', before: '1', after: '2' }] }],
    more: 1,
  }
  for (const kind of [...NOTICE_KINDS, 'of.tomorrow'])
    for (const language of ['en', 'ru'] as const) {
      const { subject, text } = noticeText(
        {
          id: 'ntc_1',
          kind,
          accountId: null,
          atMs: 0,
          detail: kind.startsWith('provider.') ? { ...detail, key: 1, status: 401 } : detail,
        },
        { account: null, key: 'laptop' },
        { language, timezone: 'Europe/Moscow', publicUrl: null },
      )
      assert.doesNotMatch(`${subject}${text}`, /undefined|null|NaN/, kind)
      assert.match(text, /1970/)
    }
})

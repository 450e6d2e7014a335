import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signedUp, type ConsoleClient } from '../harness/console-client.ts'
import { movingGateway, gateway, type Answer } from '../harness/gateway.ts'
import { until } from '../harness/patience.ts'
import { startYookassa } from '../harness/yookassa.ts'
import { refused } from '../harness/refused.ts'

const NOTIFICATIONS = '/cabinet/v1/payments/notifications/yookassa'
const SECRET = 'test_secret-of-the-shop'
/** For the work that an advance of the clock starts. */
const TURN_MS = 10
const WAIT_MS = 10_000

const yookassa = await startYookassa('100500', SECRET)
const tollgate = await gateway({
  env: {
    YOOKASSA_SHOP_ID: '100500',
    YOOKASSA_SECRET_KEY: SECRET,
    YOOKASSA_API_URL: yookassa.url,
    YOOKASSA_NETWORKS: '127.0.0.1,185.71.76.0/27',
  },
})

function notify(paymentId: string, body: Record<string, unknown> = {}): Promise<Answer> {
  return tollgate.request('POST', NOTIFICATIONS, {
    body: {
      type: 'notification',
      event: 'payment.succeeded',
      object: { id: paymentId, status: 'succeeded', paid: true, amount: { value: '1000000.00', currency: 'RUB' } },
      ...body,
    },
  })
}

async function order(
  browser: ConsoleClient,
  amount: number,
): Promise<{ readonly id: string; readonly paymentId: string }> {
  const made = await browser.post('payments', { method: 'yookassa', amount })
  assert.equal(made.status, 201, made.text)
  assert.deepEqual(
    [made.body.state, made.body.amount, made.body.currency, made.body.paid_at],
    ['pending', amount, 'RUB', null],
  )
  const [paymentId = '', payment] = [...yookassa.payments].at(-1) ?? []
  assert.deepEqual([payment?.metadata['order_id'], payment?.amount.value], [made.body.id, amount.toFixed(2)])
  assert.equal(made.body.confirmation_url, payment?.confirmation?.confirmation_url)
  return { id: made.body.id, paymentId }
}

function pay(paymentId: string): void {
  const payment = yookassa.payments.get(paymentId)
  if (payment !== undefined) Object.assign(payment, { status: 'succeeded', paid: true })
}

let refunds = 0

/** The provider refunds money; returns the refund's id. */
function refunded(paymentId: string, value: string, change: object = {}): string {
  refunds += 1
  const id = `216749f7-0016-50be-b000-${String(refunds).padStart(12, '0')}`
  yookassa.refunds.set(id, {
    id,
    payment_id: paymentId,
    status: 'succeeded',
    amount: { value, currency: 'RUB' },
    ...change,
  })
  return id
}

function notifyRefund(id: string): Promise<Answer> {
  return notify(id, {
    event: 'refund.succeeded',
    object: { id, status: 'succeeded', amount: { value: '9999.00', currency: 'RUB' } },
  })
}

/** The objects of an action's events, sorted by name. */
async function told(action: string, object?: string): Promise<readonly string[]> {
  const { data } = (
    await tollgate.admin(
      'GET',
      `/admin/v1/events?limit=300&action=${action}${object === undefined ? '' : `&object=${object}`}`,
    )
  ).body
  return data.map((event: { object: string }) => event.object).toSorted()
}

async function balance(browser: ConsoleClient): Promise<number> {
  return (await browser.get('ledger')).body.balance
}

test('an order that is paid becomes one ledger entry, keyed by the payment id, however often and at once it is notified', async () => {
  const { browser, accountId } = await signedUp(tollgate)
  assert.deepEqual((await browser.get('payments')).body.methods, [
    { id: 'yookassa', name: 'YooKassa', least: 10, most: 350_000 },
  ])
  const { id, paymentId } = await order(browser, 150.5)
  assert.equal((await notify(paymentId)).status, 200)
  assert.equal(await balance(browser), 0, 'a notification is believed only as far as the provider repeats it')
  pay(paymentId)
  const answers = await Promise.all(Array.from({ length: 10 }, () => notify(paymentId)))
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
  await notify(paymentId)
  assert.equal(await balance(browser), 150.5)
  const ledger = (await browser.get('ledger')).body.data
  assert.deepEqual(
    ledger.map(({ kind, amount, reference }: Record<string, unknown>) => [kind, amount, reference]),
    [['topup', 150.5, `yookassa:${paymentId}`]],
  )
  const paid = (await browser.get(`payments/${id}`)).body
  assert.deepEqual([paid.state, paid.confirmation_url], ['paid', null])
  assert.ok(Date.parse(paid.paid_at) > 0)
  const seen = (await tollgate.admin('GET', `/admin/v1/payments?account=${accountId}`)).body.data
  assert.deepEqual(
    seen.map((row: Record<string, unknown>) => [row['id'], row['payment_id'], row['state']]),
    [[id, paymentId, 'paid']],
  )
  assert.ok(
    (await tollgate.admin('GET', '/admin/v1/events?action=payment.paid')).body.data.some(
      ({ object }: { object: string }) => object === id,
    ),
  )
})

test('forged and foreign notifications move nothing', async () => {
  const { browser } = await signedUp(tollgate)
  const { paymentId } = await order(browser, 100)
  const asked = yookassa.asked.length
  assert.equal((await notify('00000000-0000-0000-0000-000000000000')).status, 200)
  assert.equal((await notify('../../payments?x=')).status, 200)
  assert.equal((await notify(paymentId, { event: 'refund.succeeded' })).status, 200)
  assert.equal((await notify(paymentId, { event: 'payout.succeeded' })).status, 200)
  assert.equal((await notify(paymentId, { object: null })).status, 200)
  assert.deepEqual(yookassa.asked.slice(asked), [
    'GET /payments/00000000-0000-0000-0000-000000000000',
    `GET /refunds/${paymentId}`,
  ])
  yookassa.payments.set('11111111-2222-3333-4444-555555555555', {
    id: '11111111-2222-3333-4444-555555555555',
    status: 'succeeded',
    paid: true,
    amount: { value: '100.00', currency: 'RUB' },
    metadata: { order_id: 'pay_of_another_shop' },
  })
  await notify('11111111-2222-3333-4444-555555555555')
  yookassa.payments.set('11111111-2222-3333-4444-666666666666', {
    id: '11111111-2222-3333-4444-666666666666',
    status: 'succeeded',
    paid: true,
    amount: { value: '100.00', currency: 'RUB' },
    metadata: {},
  })
  for (let times = 0; times < 3; times += 1)
    assert.deepEqual((await notify('11111111-2222-3333-4444-666666666666')).body, { received: true, known: false })
  assert.equal(await balance(browser), 0)
  // The operator gets an event for each, once.
  assert.deepEqual(await told('payment.unknown'), [
    '00000000-0000-0000-0000-000000000000',
    '11111111-2222-3333-4444-555555555555',
    '11111111-2222-3333-4444-666666666666',
  ])
  assert.deepEqual(await told('refund.unknown'), [paymentId])
  assert.deepEqual(await told('notification.unknown'), ['payment.succeeded', 'payout.succeeded'])
})

test('a refund takes the paid amount out of the balance, once, also in parts, and never more than was paid', async () => {
  const { browser, accountId } = await signedUp(tollgate)
  const { id, paymentId } = await order(browser, 100)
  pay(paymentId)
  // The notification of the payment was lost: a refund shows that it was paid.
  const refund = refunded(paymentId, '30.00')
  const answers = await Promise.all(Array.from({ length: 10 }, () => notifyRefund(refund)))
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
  assert.equal(await balance(browser), 70)
  assert.equal((await notifyRefund(refunded(paymentId, '25.50'))).body.known, true)
  assert.equal(await balance(browser), 44.5)
  await notifyRefund(refunded(paymentId, '44.51'))
  await notifyRefund(refunded(paymentId, '10.00', { amount: { value: '10.00', currency: 'KZT' } }))
  await notifyRefund(refunded(paymentId, '10.00', { status: 'canceled' }))
  assert.equal(await balance(browser), 44.5)
  assert.deepEqual(await told('payment.different', id), [id])
  const ledger = (await browser.get('ledger')).body.data
  assert.deepEqual(
    ledger.map(({ kind, amount }: Record<string, unknown>) => [kind, amount]),
    [
      ['refund', -25.5],
      ['refund', -30],
      ['topup', 100],
    ],
  )
  assert.equal((await browser.get(`payments/${id}`)).body.refunded, 55.5)
  const [row] = (await tollgate.admin('GET', `/admin/v1/payments?account=${accountId}`)).body.data
  assert.deepEqual([row.state, row.refunded, row.refund_missing], ['paid', 55.5, 0])
})

test('a refund of spent money takes the available balance; the operator is told the rest, and the balance is never below zero', async () => {
  const { browser, accountId } = await signedUp(tollgate)
  const { id, paymentId } = await order(browser, 100)
  pay(paymentId)
  await notify(paymentId)
  await tollgate.admin('POST', `/admin/v1/accounts/${accountId}/ledger`, {
    kind: 'adjustment',
    amount: -60,
    reason: 'spent',
    reference: `spent-${accountId}`,
  })
  await notifyRefund(refunded(paymentId, '70.00'))
  assert.equal(await balance(browser), 0)
  await notifyRefund(refunded(paymentId, '30.00'))
  assert.equal(await balance(browser), 0)
  const { data } = (await tollgate.admin('GET', `/admin/v1/events?action=payment.refund_short&object=${id}`)).body
  assert.deepEqual(
    data.map(({ after: { amount, booked, missing } }: { after: Record<string, unknown> }) => [amount, booked, missing]),
    [
      [30, 0, 30],
      [70, 40, 30],
    ],
  )
  const [row] = (await tollgate.admin('GET', `/admin/v1/payments?account=${accountId}`)).body.data
  assert.deepEqual([row.refunded, row.refund_missing], [100, 60])
})

test('open orders are polled, ever more rarely, so that a lost notification loses no money; an order that can no longer be paid is given up', async () => {
  const server = await movingGateway({
    catalog: 'bundled: true\n',
    env: {
      YOOKASSA_SHOP_ID: '100500',
      YOOKASSA_SECRET_KEY: SECRET,
      YOOKASSA_API_URL: yookassa.url,
      YOOKASSA_NETWORKS: '127.0.0.1',
    },
  })
  try {
    const { browser } = await signedUp(server)
    const { id, paymentId } = await order(browser, 100)
    const abandoned = await order(browser, 50)
    const asks = (of: string): number => yookassa.asked.filter((path) => path === `GET /payments/${of}`).length
    const pass = (what: string, done: () => boolean | Promise<boolean>): Promise<number> =>
      until(
        WAIT_MS,
        what,
        () => {
          server.clock.advance(60_000)
          return done()
        },
        TURN_MS,
      )
    await pass('it is asked for', () => asks(paymentId) > 0)
    assert.equal(await balance(browser), 0)
    yookassa.broken = true
    await pass('the outage is told', () =>
      server.notices.some((notice) => notice.startsWith('Payments: the open orders could not be looked at')),
    )
    yookassa.broken = false
    pay(paymentId)
    await pass('it is booked', async () => (await browser.get(`payments/${id}`)).body.state === 'paid')
    assert.equal(await balance(browser), 100)
    const askedWhilePending = asks(paymentId)
    const [before, sinceMs] = [asks(abandoned.paymentId), server.clock.now()]
    await pass('the other is asked for six times more', () => asks(abandoned.paymentId) >= before + 6)
    assert.equal(asks(paymentId), askedWhilePending, 'what is paid is not asked for again')
    assert.ok(server.clock.now() - sinceMs > 45 * 60_000, 'and ever more rarely')
    server.clock.advance(30 * 86_400_000)
    await pass(
      'it is given up',
      async () => (await server.admin('GET', '/admin/v1/events?action=payment.given_up')).body.total > 0,
    )
    assert.deepEqual(
      (await server.admin('GET', '/admin/v1/events?action=payment.given_up')).body.data.map(
        ({ object }: { object: string }) => object,
      ),
      [abandoned.id],
    )
    // Money that arrives later is still booked.
    pay(abandoned.paymentId)
    await server.request('POST', NOTIFICATIONS, {
      body: { type: 'notification', event: 'payment.succeeded', object: { id: abandoned.paymentId } },
    })
    assert.equal(
      (await server.admin('GET', `/admin/v1/payments`)).body.data.filter(
        ({ state }: { state: string }) => state === 'paid',
      ).length,
      2,
    )
  } finally {
    yookassa.broken = false
    await server.stop()
  }
})

for (const [what, change] of [
  ['another amount', { amount: { value: '1.00', currency: 'RUB' } }],
  ['a larger amount', { amount: { value: '100.01', currency: 'RUB' } }],
  ['another currency', { amount: { value: '100.00', currency: 'KZT' } }],
  ['succeeded but not paid', { paid: false }],
  ['no amount', { amount: {} }],
] as const) {
  test(`a payment that differs from its order books nothing: ${what}`, async () => {
    const { browser } = await signedUp(tollgate)
    const { id, paymentId } = await order(browser, 100)
    pay(paymentId)
    Object.assign(yookassa.payments.get(paymentId) ?? {}, change)
    assert.ok([200, 503].includes((await notify(paymentId)).status))
    assert.equal(await balance(browser), 0)
    assert.equal((await browser.get(`payments/${id}`)).body.state, 'pending')
  })
}

test('a second payment that names an order which has one books nothing', async () => {
  const { browser } = await signedUp(tollgate)
  const { id, paymentId } = await order(browser, 100)
  const copy = '99999999-2222-3333-4444-555555555555'
  yookassa.payments.set(copy, {
    id: copy,
    status: 'succeeded',
    paid: true,
    amount: { value: '100.00', currency: 'RUB' },
    metadata: { order_id: id },
  })
  await notify(copy)
  assert.equal(await balance(browser), 0)
  pay(paymentId)
  await notify(paymentId)
  await notify(copy)
  assert.equal(await balance(browser), 100)
})

test('a cancelled payment is said so; the customer may ask without waiting for a notification', async () => {
  const { browser } = await signedUp(tollgate)
  const first = await order(browser, 50)
  Object.assign(yookassa.payments.get(first.paymentId) ?? {}, { status: 'canceled' })
  assert.equal((await browser.post(`payments/${first.id}/check`)).body.state, 'cancelled')
  const second = await order(browser, 60)
  assert.equal((await browser.post(`payments/${second.id}/check`)).body.state, 'pending')
  pay(second.paymentId)
  assert.equal((await browser.post(`payments/${second.id}/check`)).body.state, 'paid')
  await notify(second.paymentId)
  assert.equal(await balance(browser), 60)
  const stranger = await signedUp(tollgate)
  refused(await stranger.browser.get(`payments/${second.id}`), 404, 'not_found')
  refused(await stranger.browser.post(`payments/${second.id}/check`), 404, 'not_found')
})

test('a provider that does not answer is a 503, to the customer and to its own notification, and is asked again', async () => {
  const { browser } = await signedUp(tollgate)
  const { paymentId } = await order(browser, 70)
  pay(paymentId)
  yookassa.broken = true
  refused(await notify(paymentId), 503, 'service_unavailable')
  refused(await browser.post('payments', { method: 'yookassa', amount: 70 }), 503, 'service_unavailable')
  yookassa.broken = false
  assert.equal((await notify(paymentId)).status, 200)
  assert.equal(await balance(browser), 70)
  assert.doesNotMatch(tollgate.logs().join('\n') + tollgate.bugs().join('\n'), new RegExp(SECRET))
})

test('orders are whole kopecks within bounds, of a method that is set up', async () => {
  const { browser } = await signedUp(tollgate)
  for (const body of [
    { amount: 9.99 },
    { amount: 350_000.01 },
    { amount: 10.001 },
    { amount: -10 },
    { amount: '10' },
    {},
    { amount: 10, method: 'card' },
  ]) {
    refused(await browser.post('payments', { method: 'yookassa', ...body }), 400, 'invalid_input')
  }
})

test('the route exists only where YooKassa is set up, and takes notifications only from its addresses', async () => {
  const bare = await gateway()
  try {
    refused(await bare.request('POST', NOTIFICATIONS, { body: {} }), 404, 'endpoint_not_found')
    const { browser } = await signedUp(bare)
    assert.deepEqual((await browser.get('payments')).body, { methods: [], data: [], next_cursor: null })
    refused(await browser.post('payments', { method: 'yookassa', amount: 100 }), 400, 'invalid_input', /not set up/)
  } finally {
    await bare.stop()
  }
  const published = await gateway({
    env: {
      YOOKASSA_SHOP_ID: '100500',
      YOOKASSA_SECRET_KEY: SECRET,
      YOOKASSA_API_URL: yookassa.url,
      TRUSTED_PROXIES: '127.0.0.1',
    },
  })
  const { browser } = await signedUp(published)
  const { paymentId } = await order(browser, 80)
  pay(paymentId)
  const from = (address: string): Promise<Answer> =>
    published.request('POST', NOTIFICATIONS, {
      headers: { 'x-forwarded-for': address },
      body: { event: 'payment.succeeded', object: { id: paymentId } },
    })
  refused(await from('203.0.113.9'), 403, 'access_denied')
  refused(await from('185.71.76.99'), 403, 'access_denied')
  assert.equal(await balance(browser), 0)
  assert.equal((await from('185.71.76.1')).status, 200)
  assert.equal(await balance(browser), 80)
})

test('an account orders 60 times an hour, and an order is looked at 30 times a day, whoever asks', async () => {
  const { browser } = await signedUp(tollgate)
  const { id, paymentId } = await order(browser, 100)
  const asked = yookassa.asked.length
  const looks: Answer[] = []
  for (let look = 0; look < 20; look += 1) looks.push(await browser.post(`payments/${id}/check`))
  for (let look = 0; look < 20; look += 1) looks.push(await notify(paymentId))
  assert.equal(looks.filter(({ status }) => status === 200).length, 30)
  assert.equal(yookassa.asked.length - asked, 30)
  refused(
    await browser.post(`payments/${id}/check`),
    429,
    'rate_limit_exceeded',
    /^At most 30 looks at one order a day/,
  )
  const orders = await Promise.all(
    Array.from({ length: 70 }, () => browser.post('payments', { method: 'yookassa', amount: 10 })),
  )
  assert.equal(orders.filter(({ status }) => status === 201).length, 59)
  const refusal = orders.find(({ status }) => status !== 201)
  assert.ok(refusal !== undefined)
  refused(refusal, 429, 'rate_limit_exceeded', /^At most 60 orders of an account an hour\. Retry after \d+ seconds$/)
  assert.equal(yookassa.asked.length - asked, 30 + 59)
  const { browser: other } = await signedUp(tollgate)
  await order(other, 100)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LOOKS, visitor, type Visitor } from '../../harness/browser.ts'
import {
  browser,
  enter,
  makeKey,
  promote,
  serveConsole,
  signUp,
  texts,
  tollgate,
  type Customer,
} from '../../harness/console-world.ts'
import { findings } from '../../harness/page-findings.ts'
import { until } from '../../harness/patience.ts'
import { breaksAfter, sendJson, startScriptedUpstream } from '../../harness/scripted-upstream.ts'
import { startTollgate } from '../../harness/server.ts'

/** Why a call failed, and what helps: at most two clicks from the first page of its customer, and of the operator. */

const upstream = await startScriptedUpstream()
upstream.answer((response, { json }, count) => {
  // The server under test wrote it.
  const { model } = json as { readonly model: string }
  if (model === 'rejects') return sendJson(response, { error: { message: 'bad temperature' } }, 400)
  if (model === 'filters')
    return sendJson(response, { error: { code: 'content_filter', message: 'not allowed by our policy' } }, 400)
  if (model === 'cuts') return breaksAfter(2, 'cut')(response, { json } as never, count)
  // A provider that never answers.
  return model === 'waits' ? undefined : sendJson(response, { error: { message: 'out of order' } }, 500)
})
const MODELS = ['rejects', 'filters', 'cuts', 'waits', 'breaks']
const skip = await serveConsole(() =>
  startTollgate({
    env: { TOLLGATE_LOG_LEVEL: 'error' },
    catalog: `
providers:
  north: { adapter: openai, base_url: '${upstream.url}', api_key: k, timeouts: { first_byte: 1 } }
models:
${MODELS.map((name) => `  - { id: north/${name}, type: chat, context_length: 8000, endpoints: [{ provider: north, model: ${name}, price: { currency: RUB, prompt: 1, completion: 1 } }] }`).join('\n')}
`,
  }),
)
const operator = await promote(tollgate, await signUp(tollgate, 'root@example.com', { name: 'Root' }))

interface Cause {
  readonly name: string
  /** The account's balance. */
  readonly balance?: number
  readonly fail: (customer: Customer) => Promise<unknown>
  /** Its name, as both sides read it. */
  readonly type: string
  /** Where help is: a link beside the reason, or a sentence. */
  readonly link?: 'top_up' | 'keys' | 'models'
  readonly says?: string
}

async function ask(
  customer: Customer,
  key: object,
  body: object = {},
  { path = '/v1/chat/completions', change }: { readonly path?: string; readonly change?: object } = {},
): Promise<unknown> {
  const made = await makeKey(tollgate, customer, { name: 'Staging', ...key })
  if (change !== undefined) {
    const changed = await tollgate.request('PATCH', `/cabinet/v1/keys/${made.id}`, {
      body: change,
      headers: customer.headers,
    })
    assert.equal(changed.status, 200, changed.text)
  }
  return tollgate.post(path, made.key, {
    model: 'sandbox/chat',
    max_tokens: 50,
    messages: [{ role: 'user', content: 'Hello' }],
    ...body,
  })
}

async function ofAccount(customer: Customer, patch: object): Promise<void> {
  const changed = await tollgate.admin('PATCH', `/admin/v1/accounts/${customer.accountId}`, patch)
  assert.equal(changed.status, 200, changed.text)
}

const REFUSED: readonly Cause[] = [
  { name: 'no money', balance: 0, fail: (customer) => ask(customer, {}), type: 'insufficient_balance', link: 'top_up' },
  {
    name: 'limit of the key',
    fail: (customer) => ask(customer, { limit: 0.000001 }),
    type: 'limit_exceeded',
    link: 'keys',
  },
  {
    name: 'limit of the account',
    fail: async (customer) => {
      await ofAccount(customer, { limit: 0.000001 })
      await ask(customer, {})
    },
    type: 'limit_exceeded',
    says: 'failure.advice.limit_of_account',
  },
  {
    name: 'too many requests',
    fail: async (customer) => {
      const { key } = await makeKey(tollgate, customer, { name: 'Staging', requests_per_minute: 1 })
      for (let time = 0; time < 2; time += 1)
        await tollgate.post('/v1/chat/completions', key, {
          model: 'sandbox/chat',
          messages: [{ role: 'user', content: 'Hi' }],
        })
    },
    type: 'rate_limit_exceeded',
    says: 'failure.retry_after',
  },
  {
    name: 'unknown model',
    fail: (customer) => ask(customer, {}, { model: 'north/none' }),
    type: 'model_not_found',
    link: 'models',
  },
  {
    name: 'forbidden model',
    fail: (customer) => ask(customer, { allowed_models: ['north/breaks'] }),
    type: 'access_denied',
    link: 'keys',
  },
  {
    name: 'disabled key',
    fail: (customer) => ask(customer, {}, {}, { change: { disabled: true } }),
    type: 'key_deactivated',
    link: 'keys',
  },
  {
    name: 'locked account',
    fail: async (customer) => {
      const { key } = await makeKey(tollgate, customer, { name: 'Staging' })
      await ofAccount(customer, { status: 'locked' })
      await tollgate.post('/v1/chat/completions', key, {
        model: 'sandbox/chat',
        messages: [{ role: 'user', content: 'Hi' }],
      })
    },
    type: 'api_locked',
    says: 'failure.advice.api_locked',
  },
  {
    name: 'long prompt',
    fail: (customer) =>
      ask(customer, {}, { model: 'north/breaks', messages: [{ role: 'user', content: 'word '.repeat(20_000) }] }),
    type: 'input_tokens_exceeded',
    link: 'models',
  },
]

const FAILED: readonly Cause[] = [
  {
    name: 'the provider rejects it',
    fail: (customer) => ask(customer, {}, { model: 'north/rejects' }),
    type: 'invalid_input',
    says: 'remedy.change',
  },
  {
    name: 'a content filter',
    fail: (customer) => ask(customer, {}, { model: 'north/filters' }),
    type: 'content_filtered',
    says: 'remedy.reword',
  },
  {
    name: 'a fault of the provider',
    fail: (customer) => ask(customer, {}, { model: 'north/breaks' }),
    type: 'provider_error',
    says: 'remedy.again',
  },
  {
    name: 'no answer in time',
    fail: (customer) => ask(customer, {}, { model: 'north/waits' }),
    type: 'provider_timeout',
    says: 'remedy.wait',
  },
  {
    name: 'a cut stream',
    fail: (customer) => ask(customer, {}, { model: 'north/cuts', stream: true }),
    type: 'provider_error',
    says: 'remedy.again',
  },
  {
    name: 'a failed video',
    fail: (customer) =>
      ask(
        customer,
        {},
        { model: 'sandbox/video', prompt: 'A lake\nsandbox: error=1', duration: 4 },
        { path: '/v1/videos' },
      ),
    type: 'provider_error',
    says: 'remedy.again',
  },
]

type Look = (typeof LOOKS)[number]

/** Each cause is seen in one look, the next in the other. */
function lookOf(index: number): Look {
  const look = LOOKS[index % LOOKS.length]
  assert.ok(look !== undefined)
  return look
}

/** Opens a first page, where the reader is. */
async function home(who: Customer, path: string, { language, dark }: Look): Promise<Visitor> {
  const guest = await visitor(browser, tollgate.url, { language, dark })
  await enter(guest.context, tollgate, who)
  await guest.page.goto(`${tollgate.url}${path}`)
  return guest
}

for (const [index, { name, balance = 500, fail, type, link, says: words }] of REFUSED.entries()) {
  const look = lookOf(index)
  const { language } = look
  const t = texts(language)
  test(`${name}: both first pages have the reason and what helps (${language})`, { skip }, async () => {
    const customer = await signUp(tollgate, `${type}-${name.replaceAll(' ', '-')}-${language}@example.com`, {
      balance,
    })
    await fail(customer)
    const { accountId } = customer
    await until(20_000, 'it is counted', async () => {
      const { body } = await tollgate.admin('GET', `/admin/v1/refusals?account=${accountId}`)
      return body.total > 0
    })
    const guest = await home(customer, '/', look)
    const row = guest.page
      .getByRole('table', { name: t('refused.today') })
      .getByRole('row')
      .filter({ hasText: t(`error.${type}`) })
    await row.waitFor()
    if (link !== undefined) await row.getByRole('link', { name: t(`refused.help.${link}`) }).click()
    if (words !== undefined)
      await row.getByText(words === 'failure.retry_after' ? /(Wait|Подождите) \d+/ : t(words)).waitFor()
    await guest.settled()
    const problems = [...(await findings(guest.page, language)), ...guest.troubles]
    await guest.close()
    const office = await home(operator, '/operator', look)
    const theirs = office.page
      .getByRole('table', { name: t('refused.day') })
      .getByRole('row')
      .filter({ has: office.page.locator(`a[href="/operator/accounts/${accountId}"]`) })
    await theirs.getByText(t(`error.${type}`)).waitFor()
    if (link !== undefined) await theirs.getByRole('link', { name: t(`refused.help.${link}`) }).click()
    await office.settled()
    assert.deepEqual([...problems, ...office.troubles], [])
    await office.close()
  })
}

for (const [index, { name, fail, type, says: words = '' }] of FAILED.entries()) {
  const look = lookOf(index)
  const { language } = look
  const t = texts(language)
  test(`${name}: two clicks from both first pages (${language})`, { skip }, async () => {
    const customer = await signUp(tollgate, `${type}-${name.replaceAll(' ', '-')}-${language}@example.com`)
    await fail(customer)
    const log = async () =>
      (await tollgate.admin('GET', `/admin/v1/generations?account=${customer.accountId}&status=error`)).body
    await until(20_000, 'it is logged', async () => (await log()).data.length > 0)
    const id = String((await log()).data[0].generation_id)
    const guest = await home(customer, '/', look)
    await guest.page
      .getByRole('link', { name: t('home.errors_of', { errors: '1', requests: '1' }), exact: true })
      .click()
    await guest.page
      .getByRole('row')
      .filter({ hasText: t(`error.${type}`) })
      .first()
      .click()
    const alert = guest.page.getByRole('dialog').getByRole('alert')
    await alert.getByText(t(`error.${type}`), { exact: true }).waitFor()
    await alert.getByText(t(words), { exact: false }).waitFor()
    const problems = [...(await findings(guest.page, language)), ...guest.troubles]
    await guest.close()
    const office = await home(operator, '/operator', look)
    const errors = office.page.getByRole('table', { name: t('overview.errors') })
    await errors
      .getByRole('link', { name: t(`error.${type}`), exact: true })
      .first()
      .click()
    await office.page.locator(`a[href*="${id}"]`).first().click()
    await office.page
      .getByRole('dialog')
      .getByRole('heading', { name: t('requests.route') })
      .waitFor()
    problems.push(...(await findings(office.page, language)), ...office.troubles)
    await office.close()
    assert.deepEqual(problems, [])
  })
}

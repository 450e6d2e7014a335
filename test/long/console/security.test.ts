import assert from 'node:assert/strict'
import { test } from 'node:test'
import { visitor } from '../../harness/browser.ts'
import {
  chat,
  enter,
  makeKey,
  promote,
  signUp,
  type Customer,
  texts,
  serveConsole,
  tollgate,
  browser,
} from '../../harness/console-world.ts'
import { listen } from '../../harness/scripted-upstream.ts'

/** Each would set `hacked` if any part of it were executed. */
const HOSTILE = [
  '<script>window.hacked=1</script>',
  '<img src=x onerror="window.hacked=1">',
  '"><svg onload=window.hacked=1>',
  "';window.hacked=1;//",
  'javascript:window.hacked=1',
  '{{constructor.constructor("window.hacked=1")()}}',
  '</title><script>window.hacked=1</script>',
  '<iframe srcdoc="<script>parent.hacked=1</script>">',
  '<a href="javascript:window.hacked=1">x</a>',
  '<style>*{background:url(javascript:window.hacked=1)}</style>',
  '<details open ontoggle=window.hacked=1>',
  '${window.hacked=1}',
]

const skip = await serveConsole()

const customer = await signUp(tollgate, 'ann@example.com', { name: HOSTILE[1] ?? '' })
for (const [index, text] of HOSTILE.entries()) {
  const { key } = await makeKey(tollgate, customer, { name: text })
  await chat(tollgate, key, 'Hello', {
    'x-title': text,
    'http-referer': index % 2 === 0 ? text : `https://evil.example/${encodeURIComponent(text)}`,
  })
  await tollgate.admin('POST', `/admin/v1/accounts/${customer.accountId}/ledger`, {
    kind: 'topup',
    amount: 1,
    reason: text,
    reference: text,
  })
  await tollgate.admin('POST', '/admin/v1/accounts', { name: text })
  await tollgate.admin('POST', '/admin/v1/codes', { amount: 1, note: text })
}
const operator = await promote(tollgate, await signUp(tollgate, 'root@example.com'))
const evil = await listen((response) =>
  response.setHeader('content-type', 'text/html').end('<!doctype html><title>evil</title><form method="post"></form>'),
)

test('hostile titles, referers, key names, reasons and notes are text wherever they are shown', { skip }, async () => {
  const places: readonly (readonly [Customer, readonly string[]])[] = [
    [
      customer,
      ['/', '/keys', '/usage', '/log', '/apps', '/ledger', '/statement', '/playground', '/settings', '/security'],
    ],
    [
      operator,
      ['accounts', `accounts/${customer.accountId}`, 'requests', 'codes', 'events', 'margin', 'users'].map(
        (name) => `/operator/${name}`,
      ),
    ],
  ]
  for (const [who, paths] of places) {
    const guest = await visitor(browser, tollgate.url)
    await enter(guest.context, tollgate, who)
    for (const path of paths) {
      await guest.follow(path)
      await guest.settled()
      assert.equal(await guest.page.evaluate('window.hacked'), undefined, path)
      assert.equal(
        await guest.page.evaluate(
          'document.querySelectorAll(\'main script, main iframe, main [onload], main [onerror], main a[href^="javascript:"]\').length',
        ),
        0,
        path,
      )
    }
    assert.deepEqual(guest.troubles, [])
    await guest.close()
  }
})

test('a page of another origin can neither change nor read anything with the user’s cookie', { skip }, async () => {
  const { port } = new URL(evil.url)
  const guest = await visitor(browser, 'http://')
  await enter(guest.context, tollgate, customer)
  // Another host name of the same machine: same-site requests are refused as well.
  for (const origin of [`http://127.0.0.1:${port}`, `http://localhost:${port}`]) {
    await guest.page.goto(origin)
    const outcomes = await guest.page.evaluate<readonly string[]>(`Promise.all([
      ['POST', '/cabinet/v1/keys', 'application/json', '{"name":"stolen"}'],
      ['POST', '/cabinet/v1/keys', 'text/plain', '{"name":"stolen"}'],
      ['POST', '/cabinet/v1/sign-out', 'text/plain', '{}'],
      ['GET', '/cabinet/v1/profile', null, null],
    ].map(([method, path, type, body]) => fetch('${tollgate.url}' + path, { method, credentials: 'include', ...(type === null ? {} : { headers: { 'content-type': type }, body }) }).then((response) => response.type + response.status, () => 'refused')))`)
    assert.deepEqual([...new Set(outcomes)], ['refused'], 'no answer can be read')
    const posted = guest.page.waitForResponse((response) => response.url().includes('/cabinet/v1/keys'))
    const moved = guest.page.waitForURL(/\/cabinet\/v1\/keys/)
    await guest.page.evaluate(
      `(() => { const form = document.forms[0]; form.action = '${tollgate.url}/cabinet/v1/keys'; form.enctype = 'text/plain'; form.innerHTML = '<input name=\\'{"name":"stolen","x":"\\' value=\\'"}\\'>'; form.submit() })()`,
    )
    assert.ok([401, 403, 415].includes((await posted).status()))
    // The target of the form, before the next page is opened.
    await moved
  }
  const keys = await tollgate.request('GET', '/cabinet/v1/keys', { headers: customer.headers })
  assert.equal(keys.status, 200, 'still signed in')
  assert.equal(JSON.stringify(keys.body).includes('stolen'), false)
  await guest.close()
})

test('the console cannot be framed, and a link cannot lead away after sign-in', { skip }, async () => {
  const guest = await visitor(browser, tollgate.url)
  await guest.page.goto(`${tollgate.url}/sign-in?next=//evil.example/`)
  await enter(guest.context, tollgate, customer)
  await guest.page.reload()
  await guest.page.getByRole('heading', { level: 1, name: texts('en')('nav.home') }).waitFor()
  assert.equal(new URL(guest.page.url()).origin, tollgate.url)
  const page = await tollgate.request('GET', '/')
  assert.match(page.headers['content-security-policy'] ?? '', /frame-ancestors 'none'/)
  assert.doesNotMatch(page.headers['content-security-policy'] ?? '', /unsafe/)
  await guest.close()
})

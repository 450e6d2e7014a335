import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTollgate, type Answer } from '../harness/server.ts'
import { lasting } from '../harness/lasting.ts'

const PASSWORD = 'correct horse battery'

const tollgate = await lasting(startTollgate())

function setUp(body: Record<string, unknown>, headers: Record<string, string> = {}): Promise<Answer> {
  return tollgate.request('POST', '/setup', { body, headers })
}

function tokenOf(link: string): string {
  return new URL(link).searchParams.get('token') ?? ''
}

test('pages are served with a strict policy and no inline script', async () => {
  for (const path of ['/', '/setup']) {
    const page = await tollgate.request('GET', path)
    assert.equal(page.status, 200)
    assert.match(page.headers['content-type'] ?? '', /^text\/html/)
    assert.match(page.headers['content-security-policy'] ?? '', /default-src 'none'.*frame-ancestors 'none'/)
    assert.equal(page.headers['x-content-type-options'], 'nosniff')
    assert.doesNotMatch(page.text, /<script>|<style|\son[a-z]+=|style=/)
    for (const [, file] of page.text.matchAll(/(?:href|src)="(\/[a-z]+\.(?:css|js))"/g))
      assert.equal((await tollgate.request('GET', file ?? '')).status, 200, file)
  }
  const hostile = await tollgate.request('GET', '/', { headers: { host: '"><script>alert(1)</script>' } })
  assert.doesNotMatch(hostile.text, /alert\(/)
})

test('the printed link makes the first administrator, once; the session opens the admin API only from the console’s page', async () => {
  const printed = /\/setup\?token=([A-Za-z0-9_-]{43})/.exec(tollgate.logs().join('\n'))?.[1] ?? ''
  assert.notEqual(printed, '', 'the start prints the link')
  assert.equal((await setUp({ token: printed, email: 'root@example.com', password: 'short' })).status, 400)
  assert.equal((await setUp({ token: printed, email: 'root@example.com', password: 'x'.repeat(129) })).status, 400)
  assert.equal((await setUp({ token: printed, email: 'no address', password: PASSWORD })).status, 400)
  assert.equal(
    (await setUp({ token: printed, email: 'root@example.com', password: PASSWORD }, { 'sec-fetch-site': 'cross-site' }))
      .status,
    403,
  )
  assert.equal((await setUp({ token: 'A'.repeat(43), email: 'root@example.com', password: PASSWORD })).status, 403)
  const made = await setUp({ token: printed, email: 'root@example.com', password: PASSWORD })
  assert.equal(made.status, 201, made.text)
  const setCookie = made.headers['set-cookie'] ?? ''
  assert.match(setCookie, /^tg_sid=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+$/m)
  assert.equal(
    (await setUp({ token: printed, email: 'second@example.com', password: PASSWORD })).status,
    403,
    'a link works once',
  )

  const cookie = setCookie.split(';')[0] ?? ''
  assert.equal((await tollgate.request('GET', '/admin/v1/accounts', { headers: { cookie } })).status, 200)
  const create = (headers: Record<string, string>): Promise<Answer> =>
    tollgate.request('POST', '/admin/v1/accounts', { headers: { cookie, ...headers }, body: { name: 'by session' } })
  assert.ok([401, 403].includes((await create({})).status), 'neither header')
  assert.ok([401, 403].includes((await create({ 'sec-fetch-site': 'same-site' })).status))
  assert.ok([401, 403].includes((await create({ origin: 'https://evil.example' })).status))
  assert.equal((await create({ 'sec-fetch-site': 'same-origin' })).status, 201)
  assert.equal((await create({ origin: tollgate.url })).status, 201)
  assert.equal((await create({ 'sec-fetch-site': 'same-origin', 'content-type': 'text/plain' })).status, 415)
  assert.equal(
    (await tollgate.request('GET', '/v1/user/balance', { headers: { cookie } })).status,
    401,
    '/v1 ignores cookies',
  )
  const events = (await tollgate.admin('GET', '/admin/v1/events')).body.data
  assert.equal(events[0].actor, 'root@example.com')
  assert.ok(
    events.some(({ action, ip }: Record<string, unknown>) => action === 'administrator.setup' && ip === '127.0.0.1'),
  )
})

test('an invited administrator gets an absolute link, a new one while it was not used, and 409 once they have a password', async () => {
  const invite = (): Promise<Answer> =>
    tollgate.admin('POST', '/admin/v1/administrators', { email: 'guest@example.com' })
  const invited = await invite()
  assert.equal(invited.status, 201, invited.text)
  assert.deepEqual(Object.keys(invited.body), ['id', 'email', 'link', 'mailed'])
  assert.ok(invited.body.link.startsWith(`${tollgate.url}/setup?token=`), invited.body.link)
  const again = await invite()
  assert.deepEqual([again.status, again.body.id], [201, invited.body.id])
  const made = await setUp({ token: tokenOf(again.body.link), email: 'guest@example.com', password: PASSWORD })
  assert.equal(made.status, 201, made.text)
  assert.equal((await invite()).status, 409)
  assert.equal((await tollgate.admin('POST', '/admin/v1/administrators', { email: 'nobody' })).status, 400)
  assert.equal((await tollgate.admin('POST', '/admin/v1/administrators', { email: 'a@b.c', role: 'root' })).status, 400)
})

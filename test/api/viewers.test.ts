import assert from 'node:assert/strict'
import { test } from 'node:test'
import { administrator, signedUp, topUp, viewer } from '../harness/console-client.ts'
import { gateway } from '../harness/gateway.ts'
import { refusedInWords as refused } from '../harness/refused.ts'

/** Operators who look at an account as its people see it. */

const server = await gateway()
const { browser: owner, accountId } = await signedUp(server)
await topUp(server, accountId, 100)

test('an operator sees an account as its people do, changes and spends nothing there, and that is logged', async () => {
  const { browser, home } = await viewer(server, 'viewer@example.com', accountId)
  const { profile } = (await browser.get('session')).body
  assert.deepEqual([profile.account_id, profile.account_role], [accountId, 'viewer'])
  assert.deepEqual(
    profile.accounts.map(({ account, role }: Record<string, string>) => [account, role]),
    [
      [home, 'owner'],
      [accountId, 'viewer'],
    ],
  )
  assert.deepEqual((await browser.get('summary')).body.money, (await owner.get('summary')).body.money)
  const body = { model: 'sandbox/chat', messages: [{ role: 'user', content: 'x' }] }
  const { id, key } = (await owner.post('keys', { name: 'seen' })).body
  assert.equal((await server.post('/v1/chat/completions', key, body)).status, 200)
  for (const path of ['log', 'ledger', 'usage', 'members', 'keys', `keys/${id}`, 'refusals'])
    assert.equal((await browser.get(path)).status, 200, path)
  refused(
    await browser.request('POST', 'playground/chat/completions', body, { 'x-tollgate-key-id': id }),
    403,
    'access_denied',
  )
  refused(await browser.request('PATCH', 'profile', { default_model: 'sandbox/chat' }), 403, 'access_denied')
  refused(await browser.post('members/leave', {}), 403, 'access_denied')
  const { data } = (await server.admin('GET', '/admin/v1/events?action=account.view')).body
  assert.ok(
    data.some((row: Record<string, string>) => row['actor'] === 'viewer@example.com' && row['object'] === accountId),
  )
  assert.equal((await browser.post('account', { account: 'acc_none' })).status, 404)
  assert.equal((await browser.post('account', { account: home })).body.profile.account_role, 'owner')
  assert.equal((await browser.get('session')).body.profile.accounts.length, 1)
})

test('who may not read all of an account as an operator does not view it, from the next request on', async () => {
  const { browser } = await viewer(server, 'demoted@example.com', accountId)
  const { user_id: id } = (await browser.get('session')).body.profile
  const role = async (operator: string): Promise<void> => {
    const { status, text } = await server.admin('PATCH', `/admin/v1/users/${id}`, { operator_role: operator })
    assert.equal(status, 200, text)
  }
  await role('support')
  assert.equal((await browser.signIn('demoted@example.com')).status, 200)
  assert.equal((await browser.post('account', { account: accountId })).body.profile.account_role, 'viewer')
  await role('billing')
  await browser.signIn('demoted@example.com')
  refused(await browser.post('account', { account: accountId }), 404, 'not_found')
  const { browser: customer } = await signedUp(server)
  refused(await customer.post('account', { account: accountId }), 404, 'not_found')
})

test('an operator who must turn two-step sign-in on views no account before', async () => {
  const strict = await gateway({ env: { TOLLGATE_ADMIN_TOTP: 'required' } })
  const { accountId: account } = await signedUp(strict)
  const browser = await administrator(strict, 'hasty@example.com')
  refused(await browser.post('account', { account }), 404, 'not_found')
})

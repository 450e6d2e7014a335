import assert from 'node:assert/strict'
import { test } from 'node:test'
import { administrator, signedUp } from '../harness/console-client.ts'
import { gateway } from '../harness/gateway.ts'
import { refusedInWords as refused } from '../harness/refused.ts'

const server = await gateway()
const { browser: customer, accountId } = await signedUp(server)
const notes = `/admin/v1/accounts/${accountId}/notes`

test('operators write notes on an account, newest first; who wrote one or an owner deletes it, and its text stays nowhere', async () => {
  const email = 'olga@example.com'
  const olga = await administrator(server, email)
  const own = await olga.request('POST', notes, { text: 'Pays by invoice.\nAsk before locking.' })
  assert.equal(own.status, 201, own.text)
  assert.deepEqual([own.body.author, own.body.text], [email, 'Pays by invoice.\nAsk before locking.'])
  const other = (await server.admin('POST', notes, { text: 'called on Monday' })).body
  assert.equal(other.author, 'token')
  const first = await server.admin('GET', `${notes}?limit=1`)
  assert.deepEqual([first.body.total, first.body.data], [2, [other]])
  const second = await server.admin('GET', `${notes}?limit=1&cursor=${first.body.next_cursor}`)
  assert.deepEqual(second.body.data, [own.body])
  assert.equal((await olga.request('DELETE', `${notes}/${own.body.id}`)).status, 200)
  refused(await olga.request('DELETE', `${notes}/${own.body.id}`), 404, 'not_found')
  assert.deepEqual((await server.admin('GET', notes)).body.data, [other])
  for (const role of ['administrator', 'support']) {
    const { token } = (await server.admin('POST', '/admin/v1/tokens', { name: `deletes-${role}`, role })).body
    refused(await server.request('DELETE', `${notes}/${other.id}`, { key: token }), 404, 'not_found')
  }
  assert.equal((await olga.request('DELETE', `${notes}/${other.id}`)).status, 200)
  refused(await olga.request('DELETE', `${notes}/${other.id}`), 404, 'not_found')
  const { data } = (await server.admin('GET', `/admin/v1/events?object=${accountId}&actor=${email}`)).body
  assert.deepEqual(
    data.map(({ action }: Readonly<Record<string, string>>) => action),
    ['account.note_delete', 'account.note_delete', 'account.note'],
  )
  assert.deepEqual(
    data.slice(0, 2).map(({ before }: { readonly before: Readonly<Record<string, string>> }) => before['author']),
    ['token', email],
  )
  assert.ok(!JSON.stringify(data).includes('invoice'))
})

test('a note has 1 to 2,000 characters, and is of an account that exists', async () => {
  for (const text of ['', ' ', 'x'.repeat(2_001)])
    refused(await server.admin('POST', notes, { text }), 400, 'invalid_input', /^text: /)
  assert.equal((await server.admin('POST', notes, { text: 'x'.repeat(2_000) })).status, 201)
  refused(await server.admin('POST', '/admin/v1/accounts/acc_none/notes', { text: 'x' }), 404, 'not_found')
  refused(await server.admin('GET', '/admin/v1/accounts/acc_none/notes'), 404, 'not_found')
  const elsewhere = (await server.createAccount()).id
  const { id } = (await server.admin('POST', notes, { text: 'here' })).body
  refused(await server.admin('DELETE', `/admin/v1/accounts/${elsewhere}/notes/${id}`), 404, 'not_found')
})

test('billing and support write notes; who only reads does not, and a customer sees none', async () => {
  const token = async (role: string): Promise<string> =>
    (await server.admin('POST', '/admin/v1/tokens', { name: `notes-${role}`, role })).body.token
  for (const role of ['billing', 'support']) {
    const by = await server.request('POST', notes, { key: await token(role), body: { text: role } })
    assert.deepEqual([by.status, by.body.author], [201, `token:notes-${role}`], by.text)
  }
  const reader = await token('read_only')
  assert.equal((await server.get(notes, reader)).status, 200)
  refused(await server.request('POST', notes, { key: reader, body: { text: 'x' } }), 403, 'access_denied')
  refused(await customer.request('GET', notes), 403, 'access_denied')
})

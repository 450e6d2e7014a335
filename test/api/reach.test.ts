import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Answer } from '../harness/api-client.ts'
import { ConsoleClient, PASSWORD, signedUp, topUp } from '../harness/console-client.ts'
import { gateway } from '../harness/gateway.ts'
import { absent } from '../harness/route-calls.ts'
import { createVideo, videoUntil } from '../harness/video-jobs.ts'
import { refused } from '../harness/refused.ts'

/** A key reaches what keys of the same person have made; those of owners, programs and the operator are the account's. */

const KEYS = ['operator', 'program', 'owner', 'second owner', 'one', 'one again', 'other'] as const
type Key = (typeof KEYS)[number]
const personOf = (key: Key): string => (key.startsWith('one') ? 'one' : key === 'other' ? 'other' : 'account')

interface Made {
  readonly response: string
  readonly item: string
  readonly request: string
  readonly stream: string
  readonly video: string
}

const made = new Map<Key, Made>()

async function joined(role: 'owner' | 'member', email: string): Promise<ConsoleClient> {
  const { link } = (await owner.post('invitations', { role, password: PASSWORD })).body
  const browser = new ConsoleClient(server)
  const token = new URL(link).searchParams.get('token')
  assert.equal((await browser.post('invitations/join', { token, email, password: PASSWORD })).status, 201)
  return browser
}

async function thingsOf(name: Key): Promise<Made> {
  const key = keys[name]
  const kept = await server.post('/v1/responses', key, {
    model: 'sandbox/chat',
    store: true,
    input: `secret of ${name}`,
  })
  assert.equal(kept.status, 200, kept.text)
  const request = `request-of-${name.replace(' ', '-')}`
  const stream = await server.request('POST', '/v1/responses', {
    key,
    body: { model: 'sandbox/chat', stream: true, store: true, input: `secret of ${name}` },
    headers: { 'x-request-id': request },
  })
  const { id: video } = await createVideo(server, key, {
    model: 'sandbox/video',
    prompt: `secret of ${name}`,
    duration: 4,
  })
  await videoUntil(server, key, video, 'completed')
  return {
    response: kept.body.id,
    item: kept.body.output.at(-1).id,
    request,
    stream: stream.headers['x-generation-id'] ?? '',
    video,
  }
}

const server = await gateway({ catalog: 'rate_limit: { requests: 100000, window: 60 }\n' })
const signed = await signedUp(server, 'owner@example.com')
const owner = signed.browser
await topUp(server, signed.accountId, 1_000)
const second = await joined('owner', 'second@example.com')
const one = await joined('member', 'one@example.com')
const other = await joined('member', 'other@example.com')
const of = async (browser: ConsoleClient): Promise<{ readonly id: string; readonly key: string }> =>
  (await browser.post('keys', { name: 'own' })).body
const manager = (await owner.post('management-keys', { name: 'manager' })).body.key
const ofOne = await of(one)
const oneKeyId = ofOne.id
const keys: Readonly<Record<Key, string>> = {
  operator: (await server.admin('POST', `/admin/v1/accounts/${signed.accountId}/keys`, { name: 'k' })).body.key,
  program: (await server.post('/v1/keys', manager, { name: 'k' })).body.key,
  owner: (await of(owner)).key,
  'second owner': (await of(second)).key,
  one: ofOne.key,
  'one again': (await of(one)).key,
  other: (await of(other)).key,
}
for (const name of KEYS) made.set(name, await thingsOf(name))

type Call = readonly [method: string, path: string, body?: object]
/** What may be asked of things, those that end them last; `id` turns an id into the one to ask for. */
const verbs = ({ response, item, request, stream, video }: Made, id: (given: string) => string): readonly Call[] => [
  ['GET', `/v1/responses/${id(response)}`],
  ['GET', `/v1/responses/${id(stream.replace('gen-', 'resp-'))}?stream=true`],
  ['GET', `/v1/responses/${id(response)}/input_items`],
  ['POST', '/v1/responses', { model: 'sandbox/chat', input: 'and?', previous_response_id: id(response) }],
  ['POST', '/v1/responses', { model: 'sandbox/chat', input: [{ type: 'item_reference', id: id(item) }] }],
  ['GET', `/v1/streams?id=${id(stream)}`],
  ['GET', `/v1/streams?id=${id(request)}`],
  ['GET', `/v1/videos/${id(video)}`],
  ['GET', `/v1/videos/${id(video)}/content`],
  ['GET', `/v1/videos/content?id=${id(video)}`],
  ['GET', `/v1/videos?id=${id(video)}`],
  ['POST', `/v1/responses/${id(response)}/cancel`],
  ['DELETE', `/v1/streams?id=${id(stream)}`],
  ['DELETE', `/v1/responses/${id(response)}`],
  ['DELETE', `/v1/videos/${id(video)}`],
]

const send = (key: string, [method, path, body]: Call): Promise<Answer> =>
  server.request(method, path, { key, ...(body === undefined ? {} : { body }) })

test('every thing × every verb × every key: another person is told what is told of a thing that never was', async (t) => {
  let cells = 0
  for (const maker of KEYS) {
    const things = made.get(maker)
    assert.ok(things !== undefined)
    const plain = (text: string): string =>
      Object.values(things).reduce((rest, id) => {
        const ids = [id, id.replace('gen-', 'resp-')]
        return ids.reduce((left, each) => left.replaceAll(absent(each), 'ID').replaceAll(each, 'ID'), rest)
      }, text)
    for (const caller of KEYS.filter((name) => personOf(name) !== personOf(maker))) {
      const asked: readonly Call[] = verbs(things, (id) => id)
      const never: readonly Call[] = verbs(things, absent)
      for (const [index, call] of asked.entries()) {
        const what = `${call[0]} ${call[1]} of ${maker} as ${caller}`
        const answer: Answer = await send(keys[caller], call)
        const none: Answer = await send(keys[caller], never[index] ?? call)
        assert.ok([400, 404].includes(answer.status), `${what}: ${answer.status} ${answer.text}`)
        assert.deepEqual([answer.status, plain(answer.text)], [none.status, plain(none.text)], what)
        cells += 1
      }
    }
  }
  t.diagnostic(`${cells} cells`)
})

test('no list of another person names a thing or shows a part of it', async () => {
  for (const caller of KEYS)
    for (const path of ['/v1/videos', '/v1/videos/history']) {
      const { text } = await server.get(path, keys[caller])
      for (const maker of KEYS.filter((name) => personOf(name) !== personOf(caller))) {
        assert.equal(
          text.includes(made.get(maker)?.video ?? ''),
          false,
          `${path} as ${caller} names a video of ${maker}`,
        )
        assert.equal(text.includes(`secret of ${maker}"`), false, `${path} as ${caller}`)
      }
    }
})

test('two people with one X-Request-Id or one Idempotency-Key each have their own', async () => {
  const body = { model: 'sandbox/chat', messages: [{ role: 'user', content: 'the same' }] }
  const ask = (name: Key, more: object = {}): Promise<Answer> =>
    server.request('POST', '/v1/chat/completions', {
      key: keys[name],
      body: { ...body, ...more },
      headers: { 'x-request-id': 'one-for-all', 'idempotency-key': 'one-for-all' },
    })
  const answers = [await ask('one'), await ask('owner'), await ask('other')]
  assert.equal(new Set(answers.map(({ body: { id } }) => id)).size, 3)
  assert.ok(answers.every(({ headers }) => headers['idempotent-replayed'] === undefined))
  assert.equal((await ask('one')).headers['idempotent-replayed'], 'true')
})

test('an owner uses no key of a member to read: not in the playground, and not by a new secret', async () => {
  const response = made.get('one')?.response ?? ''
  const playground = (browser: ConsoleClient): Promise<Answer> =>
    browser.request('GET', `/cabinet/v1/playground/responses/${response}`, undefined, { 'x-tollgate-key-id': oneKeyId })
  refused(await playground(owner), 404, 'stream_not_found')
  assert.equal((await playground(one)).status, 200)
  refused(await owner.post(`keys/${oneKeyId}/rotate`), 403, 'access_denied')
  assert.equal((await one.post(`keys/${oneKeyId}/rotate`, { grace_seconds: 3_600 })).status, 200)
  const shown = new Map(
    (await owner.get('keys')).body.data.map(({ id, own }: { id: string; own: boolean }) => [id, own]),
  )
  assert.equal(shown.get(oneKeyId), false)
  assert.equal((await owner.request('PATCH', `keys/${oneKeyId}`, { name: 'renamed' })).status, 200)
})

test('who makes a thing reaches it with each of their keys; a removed member keeps it from everybody else', async () => {
  const { body: people } = await owner.get('members')
  const member = people.members.find(({ email }: { email: string }) => email === 'other@example.com').user
  assert.equal((await owner.post(`members/${member}/remove`, { disable_keys: false })).status, 200)
  const gone = made.get('other')
  assert.ok(gone !== undefined)
  for (const caller of ['owner', 'operator', 'one'] as const)
    refused(await send(keys[caller], ['GET', `/v1/responses/${gone.response}`]), 404, 'stream_not_found')
  assert.equal((await send(keys.other, ['GET', `/v1/responses/${gone.response}`])).status, 200)
  for (const maker of KEYS) {
    const things = made.get(maker)
    assert.ok(things !== undefined)
    const same = KEYS.filter((name) => personOf(name) === personOf(maker))
    const calls = verbs(things, (id) => id)
    for (const caller of same)
      for (const call of calls.slice(0, 11)) {
        const answer = await send(keys[caller], call)
        // A video is asked for by one of two paths.
        assert.ok(
          answer.status < 300 || call[1].startsWith('/v1/videos?'),
          `${call[0]} ${call[1]} of ${maker} as ${caller}: ${answer.text}`,
        )
      }
    for (const call of calls.slice(11)) {
      const answer = await send(keys[same.at(-1) ?? maker], call)
      assert.ok(answer.status < 300, `${call[0]} ${call[1]} of ${maker}: ${answer.text}`)
    }
  }
})

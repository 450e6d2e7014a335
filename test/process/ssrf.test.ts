import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { after, test } from 'node:test'
import { FileFetch, FileFetchError } from '../../src/protocols/wire/file-fetch.ts'
import { AddressRefusedError, guardedLookup, upstreamLookup } from '../../src/protocols/wire/connections.ts'
import { isPublicAddress } from '../../src/base/public-address.ts'
import { startDnsServer } from './dns-server.ts'
import { startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { startTollgate, type Tollgate } from '../harness/server.ts'
import { lasting } from '../harness/lasting.ts'
import { completion } from '../harness/provider-answers.ts'

/** Addresses named by others (guarantees.md requirements 13 and 14, S3): only public ones are ever connected to. */
/** Plays an internal service; no request may reach it. */
/** All connections that were made, to the own host too. */
const connected: string[] = []
const onConnected = (message: unknown): void => {
  // undici publishes the parameters of its connections here.
  connected.push((message as { connectParams: { host: string } }).connectParams.host)
}

const own = await startScriptedUpstream({ forgets: true })
const inside = await startScriptedUpstream({ forgets: true })
inside.answer((response) => response.writeHead(200).end('secret'))
const names = await lasting(startDnsServer())
const files = await lasting(new FileFetch({ resolve: names.resolve }))
subscribe('undici:client:connected', onConnected)

after(() => unsubscribe('undici:client:connected', onConnected))

/** Every spelling of an address that is not public. */
const HOSTS = [
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '0x7f.1',
  '0x7f000001',
  '0177.0.0.1',
  '00000177.0.0.1',
  '2130706433',
  '017700000001',
  '127.0.0.1.',
  '127.255.255.254',
  '①②⑦.0.0.1',
  '１２７.0.0.1',
  '127。0。0。1',
  '0',
  '0.0.0.0',
  '0x0',
  '[::1]',
  '[::]',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::127.0.0.1]',
  '[::7f00:1]',
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b:1::7f00:1]',
  '[2002:7f00:1::]',
  '[2001:0:7f00:1::]',
  '[fe80::1]',
  '[fec0::1]',
  '[fc00::1]',
  '[fd00:ec2::254]',
  '[ff02::1]',
  '[100::1]',
  '[2001:db8::1]',
  '[3fff::1]',
  '[5f00::1]',
  '10.0.0.1',
  '10.255.255.255',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.0.1',
  '192.168.255.255',
  '100.64.0.1',
  '100.127.255.255',
  '100.100.100.200',
  '169.254.169.254',
  '169.254.0.1',
  '0xa9fea9fe',
  '2852039166',
  '0251.0376.0251.0376',
  '[::ffff:169.254.169.254]',
  '[::ffff:a9fe:a9fe]',
  '168.63.129.16',
  '192.0.0.1',
  '192.0.2.1',
  '192.88.99.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
] as const
const OTHERS = [
  'file:///etc/passwd',
  'ftp://example.com/x',
  'gopher://127.0.0.1:6379/_FLUSHALL',
  'dict://127.0.0.1:11211/stat',
  'data:text/plain,x',
  'javascript:alert(1)',
  'blob:https://example.com/x',
  'http://user@example.com/',
  'http://user:pw@example.com/',
  'http://example.com@127.0.0.1/',
  'http://127.0.0.1#@example.com/',
  'http://example.com:22/',
  'http://example.com:6379/',
  'https://example.com:8443/',
  'http:///x',
  'http://',
  '//127.0.0.1/',
  'nonsense',
  '',
  'http://[::1',
  'http://1.2.3.4.5/',
  'http://256.1.1.1/',
  'http://exa mple.com/',
  'ws://example.com/',
  'unix:/var/run/docker.sock',
  'http://%31%32%37.0.0.1/',
] as const

function get(address: string): Promise<Buffer> {
  return files.get(address, { ownHost: new URL(own.url).host, bytesMax: 1_000, timeoutMs: 5_000 })
}

/** Refused by us before a connection is tried, not by the other side. */
async function refused(address: string): Promise<void> {
  await assert.rejects(get(address), (thrown: unknown) => {
    assert.ok(thrown instanceof FileFetchError, address)
    const cause = thrown.cause
    assert.ok(
      cause === undefined ||
        cause instanceof AddressRefusedError ||
        (cause instanceof TypeError && 'code' in cause && cause.code === 'ERR_INVALID_URL'),
      `${address}: ${String(cause)}`,
    )
    return true
  })
}

test(`${HOSTS.length + OTHERS.length} addresses: not one is connected to`, async () => {
  connected.length = 0
  names.answer(() => ['10.0.0.1'])
  for (const host of HOSTS)
    for (const scheme of ['http', 'https']) await refused(`${scheme}://${host}/latest/meta-data/`)
  const port = new URL(inside.url).port
  for (const host of HOSTS) await refused(`http://${host}:${port}/`)
  for (const address of OTHERS) await refused(address)
  assert.deepEqual(connected, [])
  assert.equal(inside.received.length, 0)
})

test('a redirect leads nowhere that the address itself would not', async () => {
  for (const host of HOSTS) {
    for (const name of [`http://${host}/`, `//${host}/`]) {
      // A header holds bytes.
      const location = Buffer.from(name).toString('latin1')
      own.answer((response) => response.writeHead(302, { location }).end())
      connected.length = 0
      await refused(`${own.url}/file`)
      assert.deepEqual(
        connected.filter((to) => to !== new URL(own.url).host),
        [],
        name,
      )
    }
  }
  for (const status of [301, 302, 303, 307, 308]) {
    own.answer((response, request) =>
      request.path === '/file'
        ? response.writeHead(status, { location: '/next' }).end()
        : response.writeHead(status, { location: inside.url }).end(),
    )
    await refused(`${own.url}/file`)
  }
  assert.equal(inside.received.length, 0)
})

test('names that resolve to an internal address are refused, whatever else they resolve to', async () => {
  const public1 = '93.184.216.34'
  const answers: readonly (readonly string[])[] = [
    ['127.0.0.1'],
    ['10.0.0.1'],
    ['169.254.169.254'],
    [public1, '127.0.0.1'],
    ['127.0.0.1', public1],
    [public1, '8.8.8.8', '192.168.1.1'],
    ['0.0.0.0'],
    ['168.63.129.16'],
  ]
  connected.length = 0
  for (const addresses of answers) {
    names.answer(() => addresses)
    await refused('http://rebind.example/')
    assert.deepEqual(names.asked, ['rebind.example'], 'one question for one connection')
  }
  assert.deepEqual(
    connected.filter((to) => to !== new URL(own.url).host),
    [],
  )
})

test('a name whose answers change: the checked address is the connected one', async () => {
  const flips: readonly (readonly string[])[] = [
    ['93.184.216.34'],
    ['127.0.0.1'],
    ['93.184.216.34', '127.0.0.1'],
    ['8.8.8.8'],
    ['10.0.0.1'],
  ]
  names.answer((_name, count) => flips[count % flips.length] ?? [])
  const look = guardedLookup(isPublicAddress, names.resolve)
  const given: (readonly string[])[] = []
  for (let turn = 0; turn < 50; turn += 1) {
    given.push(
      await new Promise((resolve) =>
        look('flip.example', { all: true }, (error, addresses) =>
          resolve(error !== null || !Array.isArray(addresses) ? [] : addresses.map(({ address }) => address)),
        ),
      ),
    )
  }
  assert.equal(names.asked.length, 50)
  for (const [turn, addresses] of given.entries()) {
    const answered = flips[turn % flips.length] ?? []
    assert.deepEqual(addresses, answered.every((address) => isPublicAddress(address)) ? answered : [])
  }
})

test("an operator's own upstream may be inside, but never where a cloud keeps a machine's credentials", async () => {
  const resolved = (...addresses: string[]): Promise<boolean> =>
    new Promise((resolve) =>
      guardedLookup(
        () => false,
        (_name, _options, callback) =>
          callback(
            null,
            addresses.map((address) => ({ address, family: 4 })),
          ),
      )('x', {}, (error) => resolve(error === null)),
    )
  assert.equal(await resolved('10.0.0.1'), false)
  assert.equal(
    await new Promise((resolve) => upstreamLookup('localhost', {}, (error) => resolve(error === null))),
    true,
  )
})

test('what a body names has no effect: no request chooses a host, and nothing is fetched for it', async () => {
  const provider = await startScriptedUpstream({ forgets: true })
  provider.answer((response) => {
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(
        JSON.stringify(
          completion(
            { content: 'ok' },
            { id: 'x', usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } },
          ),
        ),
      )
  })
  const adapters = ['openai', 'anthropic', 'gemini', 'bedrock', 'cohere', 'ollama']
  const tollgate: Tollgate = await lasting(
    startTollgate({
      catalog: JSON.stringify({
        bundled: false,
        markup: 1,
        providers: Object.fromEntries(
          adapters.map((adapter) => [
            adapter,
            {
              adapter,
              base_url: `${provider.url}/v1`,
              api_key: adapter === 'bedrock' ? 'AKIDEXAMPLE:secret:us-east-1' : 'provider-key',
            },
          ]),
        ),
        models: adapters.map((adapter) => ({
          id: `test/${adapter}`,
          type: 'chat',
          context_length: 100_000,
          input_modalities: ['text', 'image', 'file', 'audio', 'video'],
          endpoints: [{ provider: adapter, model: 'm', price: { currency: 'RUB', prompt: 1, completion: 1 } }],
        })),
      }),
    }),
  )
  const { key } = await tollgate.createAccount({ balance: 1_000 })
  const fields = [
    'api_base',
    'base_url',
    'api_key',
    'endpoint',
    'host',
    'url',
    'proxy',
    'organization',
    'extra_headers',
    'extra_body',
    'extra_query',
    'headers',
    'azure_endpoint',
    'vertex_location',
    'aws_bedrock_runtime_endpoint',
    'callback_url',
    'webhook',
    'litellm_params',
    'custom_llm_provider',
    'mock_response',
    'api_version',
  ]
  const hostile = Object.fromEntries(
    fields.map((field) => [
      field,
      field.includes('extra') || field === 'headers'
        ? { authorization: 'Bearer stolen', host: new URL(inside.url).host }
        : inside.url,
    ]),
  )
  for (const adapter of adapters) {
    for (const content of [
      'hi',
      [{ type: 'image_url', image_url: { url: `${inside.url}/a.png` } }],
      [{ type: 'file', file: { filename: 'a.pdf', file_data: `${inside.url}/a.pdf` } }],
      [{ type: 'video_url', video_url: { url: `${inside.url}/a.mp4` } }],
    ]) {
      const answer = await tollgate.post('/v1/chat/completions', key, {
        model: `test/${adapter}`,
        max_tokens: 5,
        messages: [{ role: 'user', content }],
        ...hostile,
        provider: { ...hostile },
      })
      assert.ok([200, 400, 502].includes(answer.status), answer.text)
    }
  }
  assert.equal(inside.received.length, 0)
  assert.ok(provider.received.length > 6)
  for (const { headers, body } of provider.received) {
    assert.ok(!JSON.stringify(headers).includes('stolen'))
    for (const field of fields) assert.equal(Object.hasOwn(JSON.parse(body.toString()), field), false, field)
  }
})

test('requirement 14: a private address of a provider is for the catalogue file; the admin API needs a setting for it, and metadata addresses are always refused', async () => {
  const tollgate = await startTollgate()
  const open = await startTollgate({ env: { ALLOW_PRIVATE_UPSTREAMS: 'true' } })
  const put = (server: Tollgate, host: string): ReturnType<Tollgate['admin']> =>
    server.admin('PUT', '/admin/v1/providers/inner', {
      name: 'Inner',
      adapter: 'openai',
      base_url: `http://${host}/v1`,
      api_key: 'k',
    })
  try {
    for (const host of [
      ...HOSTS,
      'localhost',
      'LOCALHOST',
      'localhost.',
      'a.localhost',
      'db.internal',
      'printer.local',
      'router.lan',
      'intranet',
    ])
      assert.equal((await put(tollgate, host)).status, 400, host)
    assert.ok((await put(tollgate, 'api.example.com')).status < 300)
    for (const host of [
      '169.254.169.254',
      '0xa9fea9fe',
      '[::ffff:a9fe:a9fe]',
      '[fe80::1]',
      '168.63.129.16',
      'metadata.google.internal',
      '[fd00:ec2::254]',
      '100.100.100.200',
    ])
      assert.equal((await put(open, host)).status, 400, host)
    assert.ok((await put(open, '10.0.0.1')).status < 300)
    for (const url of [
      'file:///etc/passwd',
      'ftp://example.com',
      'javascript:alert(1)',
      'http://user:pw@example.com/v1',
      '',
    ]) {
      assert.equal(
        (
          await open.admin('PUT', '/admin/v1/providers/inner', {
            name: 'Inner',
            adapter: 'openai',
            base_url: url,
            api_key: 'k',
          })
        ).status,
        400,
        url,
      )
    }
  } finally {
    await Promise.all([tollgate.stop(), open.stop()])
  }
})

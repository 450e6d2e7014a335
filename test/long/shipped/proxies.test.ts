import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { request, type RequestOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { edited, freePort, hasProgram, startProgram } from '../../harness/program.ts'
import { found } from '../../harness/patience.ts'
import { startTollgate } from '../../harness/server.ts'
import { TurnClient } from '../../harness/turn-client.ts'
import { freshFolder, lasting } from '../../harness/lasting.ts'

const ROOT = join(import.meta.dirname, '../../..')
const FIRST_EVENT_MS = 10_000
const folder = freshFolder()
const file = (name: string): string => join(folder, name)
const shipped = (name: string): string => readFileSync(join(ROOT, 'deploy/proxy', name), 'utf8')

interface Ports {
  readonly plain: number
  readonly tls: number
  readonly node: number
}

/** Of each proxy: its shipped file with the ports and certificates of this test, and how it is started. */
const PROXIES: Readonly<Record<string, (ports: Ports) => readonly [string, ...string[]]>> = {
  nginx: ({ plain, tls, node }) => {
    const config = edited(shipped('nginx.conf'), [
      ['listen 80;', `listen ${plain};`],
      ['listen [::]:80;', ''],
      ['listen 443 ssl', `listen ${tls} ssl`],
      ['listen [::]:443 ssl http2;', ''],
      ['127.0.0.1:8080', `127.0.0.1:${node}`],
      ['/etc/ssl/tollgate/fullchain.pem', file('cert.pem')],
      ['/etc/ssl/tollgate/privkey.pem', file('key.pem')],
      ['/var/log/nginx/access.log', file('access.log')],
    ])
    writeFileSync(file('nginx.conf'), config)
    return ['nginx', '-c', file('nginx.conf'), '-g', `daemon off; pid ${file('nginx.pid')}; error_log stderr;`]
  },
  haproxy: ({ plain, tls, node }) => {
    const config = edited(shipped('haproxy.cfg'), [
      ['bind :80\n', `bind :${plain}\n`],
      ['bind :443 ', `bind :${tls} `],
      ['127.0.0.1:8080', `127.0.0.1:${node}`],
      ['/etc/ssl/tollgate/tollgate.pem', file('both.pem')],
    ])
    writeFileSync(file('haproxy.cfg'), config)
    return ['haproxy', '-db', '-f', file('haproxy.cfg')]
  },
  caddy: ({ plain, tls, node }) => {
    const config = edited(shipped('Caddyfile'), [
      ['ai.example.com {', `https://localhost:${tls} {\n\ttls ${file('cert.pem')} ${file('key.pem')}`],
      ['127.0.0.1:8080', `127.0.0.1:${node}`],
    ])
    // The redirect is Caddy's own, from the port that a global option names.
    writeFileSync(file('Caddyfile'), `{\n\tadmin off\n\thttp_port ${plain}\n\thttps_port ${tls}\n}\n${config}`)
    return ['caddy', 'run', '--config', file('Caddyfile'), '--adapter', 'caddyfile']
  },
}

/** The provider sends its first event at once, and the rest when the client has it. */
const provider: { release: (() => void) | null } = { release: null }
const upstream = createServer((received, answer) => {
  received.resume()
  const event = (delta: object, finish: string | null): void => {
    const choices = [{ index: 0, delta, finish_reason: finish }]
    answer.write(`data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices })}\n\n`)
  }
  received.on('end', () => {
    answer.writeHead(200, { 'content-type': 'text/event-stream' })
    event({ role: 'assistant', content: 'first' }, null)
    provider.release = () => {
      event({ content: ' last' }, 'stop')
      answer.end(
        'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}\n\ndata: [DONE]\n\n',
      )
    }
  })
})

const words = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost'
const names = ['-addext', 'subjectAltName=DNS:localhost', '-keyout', file('key.pem'), '-out', file('cert.pem')]
execFileSync('openssl', [...words.split(' '), ...names], { stdio: 'pipe' })
writeFileSync(file('both.pem'), readFileSync(file('cert.pem'), 'utf8') + readFileSync(file('key.pem'), 'utf8'))
mkdirSync(file('home'))
await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
// An IP socket has an address of this form.
const { port } = upstream.address() as AddressInfo
const tollgate = await lasting(
  startTollgate({
    env: { TRUSTED_PROXIES: '127.0.0.1/32' },
    catalog: `
bundled: false
providers:
  slow: { name: Slow, adapter: openai, base_url: 'http://127.0.0.1:${port}/v1', api_key: upstream-key }
models:
  - id: test/slow
    type: chat
    context_length: 8000
    max_completion_tokens: 100
    endpoints:
      - { provider: slow, model: slow, price: { currency: RUB, prompt: 10, completion: 10 } }
`,
  }),
)
after(async () => {
  upstream.closeAllConnections()
  upstream.close()
})

for (const [name, prepared] of Object.entries(PROXIES))
  test(
    `${name} as shipped: TLS, events as they come, WebSockets, the client's own address`,
    { skip: hasProgram(name) ? false : `no ${name} on this machine` },
    async () => {
      const ports = { plain: await freePort(), tls: await freePort(), node: Number(new URL(tollgate.url).port) }
      const home = { HOME: file('home'), XDG_DATA_HOME: file('home'), XDG_CONFIG_HOME: file('home') }
      await lasting(startProgram(prepared(ports), ports.tls, home))
      await streams(ports.tls)
      await keepsAddress(ports.tls)
      await takesTurns(ports.tls)
      const plain = await fetch(`http://127.0.0.1:${ports.plain}/v1/models`, {
        redirect: 'manual',
        headers: { host: 'localhost' },
      })
      assert.equal(plain.status, 308)
      assert.match(plain.headers.get('location') ?? '', /^https:\/\//)
      const site = await secure(ports.tls, '/', { headers: { accept: 'text/html' } })
      assert.equal(site.headers['strict-transport-security'], 'max-age=31536000')
    },
  )

async function streams(port: number): Promise<void> {
  const { key } = await tollgate.createAccount()
  const body = { model: 'test/slow', stream: true, messages: [{ role: 'user', content: 'Hello' }] }
  const answer = secure(port, '/v1/chat/completions', { method: 'POST', headers: bearer(key) }, body)
  await found(FIRST_EVENT_MS, 'the first event passes before the provider sends the second', () =>
    answer.text().includes('first') ? true : null,
  )
  assert.ok(!answer.text().includes('last'))
  provider.release?.()
  provider.release = null
  const { status } = await answer
  assert.equal(status, 200)
  assert.match(answer.text(), / last[^]*"cost":[^]*\[DONE\]/)
}

/** What a client claims of its address in a header is not believed, and what the proxy says of it is. */
async function keepsAddress(port: number): Promise<void> {
  const claim = { 'x-forwarded-for': '192.0.2.7' }
  for (const [allowed, status] of [
    ['127.0.0.2/32', 200],
    ['192.0.2.7/32', 403],
  ] as const) {
    const { key } = await tollgate.createAccount({ key: { allowed_ips: [allowed] } })
    const options = { headers: { ...bearer(key), ...claim }, localAddress: '127.0.0.2' }
    const answer = secure(port, '/v1/user/balance', options)
    assert.equal((await answer).status, status, answer.text())
  }
}

/** Two turns of one WebSocket, each charged. */
async function takesTurns(port: number): Promise<void> {
  const { id, key } = await tollgate.createAccount()
  const client = await TurnClient.open(`https://localhost:${port}`, bearer(key), { ca: readFileSync(file('cert.pem')) })
  for (const input of ['one', 'two']) {
    const turn = client.turn({ model: 'test/slow', input })
    await found(FIRST_EVENT_MS, 'the provider has been asked', () => provider.release)
    provider.release?.()
    provider.release = null
    assert.equal((await turn).at(-1).type, 'response.completed')
  }
  client.socket.close()
  await client.closed
  assert.equal((await tollgate.admin('GET', `/admin/v1/accounts/${id}`)).body.balance, 99.9999)
}

const bearer = (key: string): Record<string, string> => ({
  authorization: `Bearer ${key}`,
  'content-type': 'application/json',
})

/** A request over TLS, whose text can be read while it comes. */
function secure(port: number, path: string, options: RequestOptions, body?: unknown) {
  let text = ''
  const answer = new Promise<{ status: number; headers: Record<string, unknown> }>((resolve, reject) => {
    const asked = request(
      {
        host: '127.0.0.1',
        servername: 'localhost',
        port,
        path,
        ca: readFileSync(file('cert.pem')),
        agent: false,
        ...options,
        headers: { host: `localhost:${port}`, ...options.headers },
      },
      (response) => {
        response.on('data', (chunk: Buffer) => (text += chunk.toString()))
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers }))
        response.on('error', reject)
      },
    )
    asked.on('error', reject)
    asked.end(body === undefined ? undefined : JSON.stringify(body))
  })
  return Object.assign(answer, { text: () => text })
}

import { Agent, request } from 'undici'

const [, , url = '', key = '', kind = 'chat', clientsText = '32', countText = '1000'] = process.argv
const clients = Number(clientsText)
let left = Number(countText)
const agent = new Agent({ connections: clients, pipelining: 1, keepAliveTimeout: 60_000 })
const body = JSON.stringify({ model: 'bench', messages: [{ role: 'user', content: 'hello '.repeat(150) }], max_tokens: 500, ...(kind === 'stream' ? { stream: true } : {}) })
const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }
let failed = 0

async function client(): Promise<void> {
  while (left > 0) {
    left -= 1
    const answer = await request(`${url}/v1/chat/completions`, { method: 'POST', body, headers, dispatcher: agent })
    const text = await answer.body.text()
    const whole = kind === 'stream' ? text.includes('[DONE]') && !text.includes('"error"') : text.includes('"usage"')
    if (answer.statusCode !== 200 || !whole) failed += 1
  }
}

const startedMs = performance.now()
await Promise.all(Array.from({ length: clients }, client))
process.stdout.write(`${JSON.stringify({ failed, ms: performance.now() - startedMs })}\n`)
await agent.close()

import { createServer } from 'node:http'

const CHUNKS = 100
const PLAIN = Buffer.from(
  JSON.stringify({
    id: 'chatcmpl-bench', object: 'chat.completion', created: 1, model: 'bench',
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'word '.repeat(160).trim() } }],
    usage: { prompt_tokens: 20, completion_tokens: 160, total_tokens: 180 },
  }),
)
const chunk = (delta: object, finish: string | null): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1, model: 'bench', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const TAIL = `${chunk({}, 'stop')}data: ${JSON.stringify({ id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1, model: 'bench', choices: [], usage: { prompt_tokens: 20, completion_tokens: CHUNKS, total_tokens: 20 + CHUNKS } })}\n\ndata: [DONE]\n\n`

/** A provider that costs as little CPU as it can: one plain answer of about 1 kB, or 100 chunks over a second. */
const server = createServer((request, response) => {
  const body: Buffer[] = []
  request.on('data', (piece: Buffer) => body.push(piece))
  request.on('end', () => {
    if (!Buffer.concat(body).includes('"stream":true')) {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': PLAIN.length }).end(PLAIN)
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(chunk({ role: 'assistant', content: '' }, null))
    let sent = 0
    const timer = setInterval(() => {
      sent += 1
      response.write(chunk({ content: `word ${sent} ` }, null))
      if (sent < CHUNKS) return
      clearInterval(timer)
      response.end(TAIL)
    }, 10)
    response.on('close', () => clearInterval(timer))
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address !== null && typeof address === 'object') process.stdout.write(`${address.port}\n`)
})

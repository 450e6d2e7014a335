import assert from 'node:assert/strict'
import { test } from 'node:test'
import { foldStream } from '../../harness/chat-fold.ts'
import { type Answer, serveSandbox } from '../../harness/gateway.ts'

const MODEL = 'sandbox/chat'
const HEADERS = { 'accept-charset': 'utf-8' }
const { key, tollgate } = await serveSandbox()

function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  return tollgate.request('POST', path, { key, body, headers })
}

const FIND = {
  type: 'function',
  function: { name: 'find', description: 'Finds', parameters: { type: 'object', properties: {}, required: [] } },
}

test("LibreChat: the list with each model's price and context, an answer as a stream, a title", async () => {
  const { body } = await tollgate.request('GET', '/v1/models', {
    key,
    headers: { accept: 'application/json, text/plain, */*' },
  })
  const model = body.data.find(({ id }: { id: string }) => id === MODEL)
  // Numbers of these names become its table of contexts and prices.
  assert.ok(Number(model.pricing.prompt) > 0 && Number(model.pricing.completion) > 0 && model.context_length > 0)
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
  ]
  const asked = { model: MODEL, user: '65f0c0ffee', stream: true, stream_options: { include_usage: true }, messages }
  const { status, text } = await post('/v1/chat/completions', asked)
  const folded = foldStream(status, text, {})
  assert.equal(folded.choices.get(0)?.text, 'Hello from the sandbox. You said: Hello')
  const title = await post('/v1/chat/completions', {
    model: MODEL,
    stream: false,
    messages: [{ role: 'user', content: 'Provide a concise title' }],
  })
  assert.match(title.body.choices[0].message.content, /^Hello from the sandbox/)
  assert.ok(title.body.usage.total_tokens > 0)
})

test('Dify: the check of a key, a stream with a tool and its result, a structured answer', async () => {
  const checked = await post('/v1/chat/completions', {
    model: MODEL,
    max_tokens: 5,
    messages: [{ role: 'user', content: 'ping' }],
  })
  assert.deepEqual([checked.status, checked.body.object], [200, 'chat.completion'])
  const asked = (messages: readonly unknown[], fields: Record<string, unknown> = {}): Promise<Answer> =>
    post(
      '/v1/chat/completions',
      {
        model: MODEL,
        stream: true,
        stream_options: { include_usage: true },
        temperature: 0.7,
        top_p: 1,
        frequency_penalty: 0,
        presence_penalty: 0,
        max_tokens: 512,
        user: 'a-user',
        messages,
        ...fields,
      },
      HEADERS,
    )
  const first = await asked([{ role: 'user', content: 'sandbox: tool=find' }], { tool_choice: 'auto', tools: [FIND] })
  // It splits at empty lines, skips comments, and takes the rest of a line after `data: `.
  const events = first.text
    .split('\n\n')
    .filter((event) => event !== '' && !event.startsWith(':') && event !== 'data: [DONE]')
    .map((event) => JSON.parse(event.replace(/^data: /, '')))
  const call = events.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? [])[0]
  assert.equal(call.function.name, 'find')
  assert.ok(events.some(({ usage }) => usage?.prompt_tokens > 0 && usage.completion_tokens > 0))
  const second = await asked([
    { role: 'user', content: 'sandbox: tool=find' },
    {
      role: 'assistant',
      content: '',
      tool_calls: [{ id: call.id, type: 'function', function: { name: 'find', arguments: '{}' } }],
    },
    { role: 'tool', content: 'found', tool_call_id: call.id },
    { role: 'user', content: 'Thanks' },
  ])
  assert.equal(
    foldStream(second.status, second.text, {}).choices.get(0)?.text,
    'Hello from the sandbox. You said: Thanks',
  )
  const schema = { name: 'a', schema: { type: 'object', properties: {} } }
  const structured = await asked([{ role: 'user', content: 'Hello' }], {
    response_format: { type: 'json_schema', json_schema: schema },
  })
  assert.equal(structured.status, 200, structured.text)
  const completion = await post('/v1/completions', { model: MODEL, prompt: 'ping', max_tokens: 5 })
  assert.deepEqual([completion.status, completion.body.object], [200, 'text_completion'])
})

test('Cursor: a body of Responses on the route of chat, streamed, with its tools', async () => {
  const { status, text } = await post('/v1/chat/completions', {
    model: MODEL,
    stream: true,
    stream_options: { include_usage: true },
    input: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'input_text', text: 'sandbox: tool=find' }] },
    ],
    tools: [
      { type: 'function', name: 'find', description: 'Finds', parameters: { type: 'object', properties: {} } },
      { type: 'custom', name: 'apply_patch', description: 'Edits' },
    ],
    tool_choice: 'auto',
    store: false,
    include: ['reasoning.encrypted_content'],
    user: 'a-user',
  })
  const folded = foldStream(status, text, {})
  assert.equal(status, 200, text)
  assert.match(text, /"name":"find"/)
  assert.equal(folded.done, true)
})

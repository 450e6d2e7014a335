import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gateway } from '../harness/gateway.ts'
import { startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { SDK_STREAMS, STREAMS } from '../clock/stall-answers.ts'

const TOTAL_SECONDS = 20
const USAGE = '"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}'
/** Events with which providers show that they live, by the name of a stream; each is sent for ever. */
const HEARTBEATS: Readonly<Record<string, readonly string[]>> = {
  'chat of openai': [
    '{"choices":[{"index":0,"delta":{"role":"assistant"}}]}',
    '{"choices":[{"index":0,"delta":{"reasoning_content":"","content":null}}]}',
    '{"choices":[{"index":0,"delta":{"content":"","reasoning_details":[{"type":"reasoning.text","text":"","index":0}]}}]}',
    '{"choices":[{"index":0,"delta":{"audio":{"id":"a","data":"","transcript":""}}}]}',
    '{"choices":[{"index":0,"delta":{"content":""},"logprobs":{"content":[],"refusal":null}}]}',
    '{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":""}}]}}]}',
    `{"choices":[],${USAGE}}`,
  ],
  'chat of anthropic': [
    '{"type":"ping"}',
    '{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{}}}',
    '{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}',
    '{"type":"message_delta","delta":{},"usage":{"output_tokens":1}}',
  ],
  'chat of gemini': [
    '{"candidates":[{"content":{"parts":[{"text":"","thought":true}]}}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1}}',
    '{"candidates":[{"content":{"parts":[{"functionCall":{"willContinue":true}}]}}]}',
    '{"candidates":[{"content":{"parts":[{"executableCode":{"code":""}},{"codeExecutionResult":{"output":""}}]}}]}',
    '{"candidates":[]}',
  ],
  'chat of bedrock': [
    'contentBlockDelta {"contentBlockIndex":1,"delta":{"toolUse":{"input":""}}}',
    'contentBlockDelta {"contentBlockIndex":2,"delta":{"reasoningContent":{"text":""}}}',
  ],
  'chat of cohere': [
    '{"type":"content-delta","index":0,"delta":{"message":{"content":{"thinking":""}}}}',
    '{"type":"message-start","id":"a","delta":{"message":{"role":"assistant"}}}',
  ],
  'chat of ollama': ['{"message":{"role":"assistant","content":"","thinking":""},"done":false}'],
  responses: [
    '{"type":"response.in_progress","response":{"id":"a"}}',
    '{"type":"response.function_call_arguments.delta","output_index":1,"item_id":"f","delta":""}',
    '{"type":"response.web_search_call.searching","output_index":9,"item_id":"s","status":"in_progress"}',
    '{"type":"response.custom_tool_call_input.delta","output_index":9,"item_id":"s","delta":""}',
  ],
}

test('F23: empty deltas after content, and other signs of life, are no progress in any protocol', async (context) => {
  const upstream = await startScriptedUpstream()
  context.after(() => upstream.close())
  const provider = (name: string, more: string): string =>
    `  ${name}: { ${more}, base_url: "${upstream.url}/${name}", api_key: k, timeouts: { progress: 1, total: ${TOTAL_SECONDS} } }\n`
  const model = (name: string, more = ''): string =>
    `  - { id: test/${name}, type: chat, context_length: 100000, endpoints: [{ provider: ${name}, model: m, price: { currency: RUB, prompt: 1, completion: 1000000 }${more} }] }\n`
  const adapters = ['openai', 'anthropic', 'gemini', 'cohere', 'bedrock', 'ollama']
  const packages = ['mistral', 'groq']
  const server = await gateway({
    catalog: `
bundled: false
rate_limit: { requests: 100000, window: 60 }
providers:
${adapters.map((name) => provider(name, `adapter: ${name}`)).join('')}${packages.map((name) => provider(`sdk-${name}`, `adapter: ai-sdk, package: "@ai-sdk/${name}"`)).join('')}${provider('native', 'adapter: openai')}models:
${adapters.map((name) => model(name)).join('')}${packages.map((name) => model(`sdk-${name}`)).join('')}${model('native', ', native_responses: true, native_completions: true')}`,
  })
  context.after(() => server.stop())
  const { key } = await server.createAccount({ balance: 1_000_000 })
  const cases = [...STREAMS, ...SDK_STREAMS].flatMap((stream) =>
    [stream.text(''), ...(HEARTBEATS[stream.what] ?? [])].map((heartbeat) => ({ ...stream, heartbeat })),
  )
  upstream.answer((response) => {
    const [, number = ''] = /case-(\d+)/.exec(String(upstream.received.at(-1)?.body)) ?? []
    const { type, written, begin, text, heartbeat } = cases[Number(number)] ?? assert.fail('no case')
    response.writeHead(200, { 'content-type': type })
    // Twice: the second one is known by its bytes.
    for (const event of [...begin, text('said'), text('said')]) response.write(written(event))
    const drip = setInterval(() => response.write(written(heartbeat)), 100)
    response.once('close', () => clearInterval(drip))
  })
  await Promise.all(
    cases.map(async ({ what, path, request, heartbeat }, number) => {
      const asked = JSON.stringify({ ...request, max_tokens: 100, stream: true }).replace('"x"', `"case-${number}"`)
      const answer = await server.post(path, key, asked)
      assert.match(answer.text, /said/, `${what}: ${heartbeat}`)
      assert.match(answer.text, /provider_timeout/, `${what}: ${heartbeat}`)
    }),
  )
  // Not the limit of the whole answer.
  assert.deepEqual(
    server.logs().filter((line) => /: timeout/.test(line)),
    [],
  )
})

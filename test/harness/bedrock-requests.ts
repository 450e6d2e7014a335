import { requestsOf, WEATHER } from './protocol-read.ts'
import { bedrockProtocol } from '../../src/protocols/bedrock/bedrock.ts'

/** 2015-08-30T12:36:00Z, the time in AWS's test suite of signatures. */
const NOW_MS = 1_440_938_160_000
export const PROTOCOL = bedrockProtocol(() => NOW_MS)
export const CLAUDE_37 = 'us.anthropic.claude-3-7-sonnet-20250219-v1:0'
export const CLAUDE_45 = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'
export const NOVA = 'us.amazon.nova-pro-v1:0'
export const LLAMA = 'meta.llama3-1-70b-instruct-v1:0'
export const HELLO = { messages: [{ role: 'user', content: 'Hello' }] }

export const WEATHER_SPEC = {
  toolSpec: { name: 'get_weather', description: 'Now', inputSchema: { json: WEATHER.function.parameters } },
}

export const CALLED = [
  { role: 'user', content: 'Weather?' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Omsk"}' } }],
  },
  { role: 'tool', tool_call_id: 'call_1', content: 'Snow' },
]

export const SCHEMA = { type: 'object', properties: { a: { type: 'string' } } }

export const { callOf, bodyOf, refuses } = requestsOf(PROTOCOL, {
  model: CLAUDE_37,
  apiKey: 'bedrock-api-key',
  baseUrl: 'https://bedrock-runtime.eu-west-1.amazonaws.com',
  sendMaxTokens: 10_000,
})

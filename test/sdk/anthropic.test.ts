import assert from 'node:assert/strict'
import { test } from 'node:test'
import Anthropic, { APIError, AuthenticationError, NotFoundError, RateLimitError } from '@anthropic-ai/sdk'
import { auditClean } from '../harness/api-client.ts'
import { serve } from '../harness/gateway.ts'
import { catalogOf, COST_MICRO, spentMicro } from '../clients/money.ts'
import { ScriptedModel } from '../clients/scripted-model.ts'

const { key, tollgate, upstream } = await serve(
  () => ScriptedModel.start(),
  ({ url }) => catalogOf(url),
  100,
)
const EDIT: Anthropic.Tool = {
  name: 'edit',
  input_schema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
}

function client(apiKey = key): Anthropic {
  return new Anthropic({ baseURL: tollgate.url, apiKey, maxRetries: 0 })
}

for (const model of ['acme/messages', 'acme/chat', 'acme/responses', 'acme/gemini'])
  test(`@anthropic-ai/sdk: three turns with a call of a tool at ${model}, charged to the micro-ruble`, async () => {
    const { id, key } = await tollgate.createAccount({ balance: 100 })
    upstream.script = ({ said }) =>
      said.at(-1)?.by === 'user' && said.at(-1)?.text === 'Edit it.'
        ? { tool: 'edit', arguments: { path: 'a "b".txt' } }
        : { text: said.at(-1)?.by === 'tool' ? 'It is edited.' : `You said: ${said.at(-1)?.text ?? ''}` }
    const messages: Anthropic.MessageParam[] = []
    const turn = async (content: string | Anthropic.ContentBlockParam[]): Promise<Anthropic.Message> => {
      messages.push({ role: 'user', content })
      const answer = await client(key)
        .messages.stream({ model, max_tokens: 500, messages, tools: [EDIT] })
        .finalMessage()
      messages.push({ role: 'assistant', content: answer.content })
      const { input_tokens: input, cache_read_input_tokens: cached, output_tokens: output } = answer.usage
      assert.deepEqual([answer.model, input, cached, output], [model, 800, 200, 50])
      return answer
    }
    assert.deepEqual(textOf(await turn('Hello.')), 'You said: Hello.')
    const called = await turn('Edit it.')
    const [call] = called.content.filter((block) => block.type === 'tool_use')
    assert.deepEqual([called.stop_reason, call?.name, call?.input], ['tool_use', 'edit', { path: 'a "b".txt' }])
    const after = await turn([{ type: 'tool_result', tool_use_id: call?.id ?? '', content: 'edited' }])
    assert.deepEqual([after.stop_reason, textOf(after)], ['end_turn', 'It is edited.'])
    const whole = await client(key).messages.create({
      model,
      max_tokens: 500,
      messages: [...messages, { role: 'user', content: 'Bye.' }],
    })
    assert.deepEqual([textOf(whole), whole.usage.output_tokens], ['You said: Bye.', 50])
    assert.equal(await spentMicro(tollgate, id), 4n * COST_MICRO)
    await auditClean(tollgate)
  })

test('@anthropic-ai/sdk: errors have its classes, and tokens are counted for nothing', async () => {
  const ask = (model: string, apiKey?: string): Promise<unknown> =>
    client(apiKey).messages.create({ model, max_tokens: 10, messages: [{ role: 'user', content: 'Hello.' }] })
  await assert.rejects(ask('acme/none'), NotFoundError)
  await assert.rejects(ask('acme/chat', 'sk-wrong'), AuthenticationError)
  const poor = await tollgate.createAccount({ balance: 0 })
  await assert.rejects(ask('acme/chat', poor.key), (error: unknown) => {
    assert.ok(error instanceof APIError)
    assert.deepEqual([error.status, error.type], [402, 'billing_error'])
    return true
  })
  const limited = await tollgate.createAccount({ account: { rate_limit: { requests: 1, window: 600 } } })
  await ask('acme/chat', limited.key)
  await assert.rejects(ask('acme/chat', limited.key), RateLimitError)
  const { input_tokens: counted } = await client().messages.countTokens({
    model: 'acme/chat',
    messages: [{ role: 'user', content: 'Hello, how are you?' }],
  })
  assert.ok(counted > 3 && counted < 30, String(counted))
  const ids = (await Array.fromAsync(client().models.list({ limit: 2 }))).map(({ id }) => id)
  assert.ok(ids.includes('acme/messages') && ids.includes('acme/gemini'), ids.join(', '))
})

function textOf({ content }: Anthropic.Message): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('')
}

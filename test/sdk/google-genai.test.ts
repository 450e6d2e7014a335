import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, FunctionCallingConfigMode, GoogleGenAI, type Content } from '@google/genai'
import { auditClean } from '../harness/api-client.ts'
import { serve } from '../harness/gateway.ts'
import { catalogOf, COST_MICRO, spentMicro } from '../clients/money.ts'
import { ScriptedModel } from '../clients/scripted-model.ts'

const { key, tollgate, upstream } = await serve(
  () => ScriptedModel.start(),
  ({ url }) => catalogOf(url),
  100,
)
const TOOLS = [
  {
    functionDeclarations: [
      { name: 'edit', parametersJsonSchema: { type: 'object', properties: { path: { type: 'string' } } } },
    ],
  },
]

function client(apiKey = key): GoogleGenAI {
  return new GoogleGenAI({ apiKey, httpOptions: { baseUrl: tollgate.url } })
}

for (const model of ['acme/gemini', 'acme/chat', 'acme/messages'])
  test(`@google/genai: three turns with a call of a tool at ${model}, charged to the micro-ruble`, async () => {
    const { id, key } = await tollgate.createAccount({ balance: 100 })
    upstream.script = ({ said }) =>
      said.at(-1)?.by === 'user' && said.at(-1)?.text === 'Edit it.'
        ? { tool: 'edit', arguments: { path: 'a "b".txt' } }
        : { text: said.at(-1)?.by === 'tool' ? 'It is edited.' : `You said: ${said.at(-1)?.text ?? ''}` }
    const contents: Content[] = []
    const turn = async (parts: Content['parts']): Promise<{ readonly text: string; readonly content: Content }> => {
      contents.push({ role: 'user', ...(parts === undefined ? {} : { parts }) })
      const stream = await client(key).models.generateContentStream({ model, contents, config: { tools: TOOLS } })
      const content: Content = { role: 'model', parts: [] }
      let last
      for await (const chunk of stream) {
        content.parts?.push(...(chunk.candidates?.[0]?.content?.parts ?? []))
        last = chunk
      }
      contents.push(content)
      const usage = last?.usageMetadata
      assert.deepEqual(
        [usage?.promptTokenCount, usage?.cachedContentTokenCount, usage?.candidatesTokenCount],
        [1_000, 200, 50],
      )
      assert.equal(last?.candidates?.[0]?.finishReason, 'STOP')
      return { text: (content.parts ?? []).map(({ text = '' }) => text).join(''), content }
    }
    assert.equal((await turn([{ text: 'Hello.' }])).text, 'You said: Hello.')
    const called = await turn([{ text: 'Edit it.' }])
    const call = called.content.parts?.find(({ functionCall }) => functionCall !== undefined)?.functionCall
    assert.deepEqual([call?.name, call?.args], ['edit', { path: 'a "b".txt' }])
    const after = await turn([
      {
        functionResponse: {
          name: 'edit',
          response: { result: 'edited' },
          ...(call?.id === undefined ? {} : { id: call.id }),
        },
      },
    ])
    assert.equal(after.text, 'It is edited.')
    const whole = await client(key).models.generateContent({
      model,
      contents: [...contents, { role: 'user', parts: [{ text: 'Bye.' }] }],
      config: { tools: TOOLS, toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.NONE } } },
    })
    assert.equal(whole.text, 'You said: Bye.')
    assert.equal(await spentMicro(tollgate, id), 4n * COST_MICRO)
    await auditClean(tollgate)
  })

test('@google/genai: errors have its class and status, tokens are counted, models are listed', async () => {
  const ask = (model: string, apiKey?: string): Promise<unknown> =>
    client(apiKey).models.generateContent({ model, contents: 'Hello.' })
  const poor = await tollgate.createAccount({ balance: 0 })
  for (const [asked, status] of [
    [ask('acme/none'), 404],
    [ask('acme/chat', 'sk-wrong'), 401],
    [ask('acme/chat', poor.key), 402],
  ] as const)
    await assert.rejects(asked, (error: unknown) => {
      assert.ok(error instanceof ApiError)
      assert.equal(error.status, status)
      return true
    })
  const { totalTokens } = await client().models.countTokens({ model: 'acme/chat', contents: 'Hello, how are you?' })
  assert.ok(totalTokens !== undefined && totalTokens > 3 && totalTokens < 30, String(totalTokens))
  const names: string[] = []
  for await (const { name } of await client().models.list()) names.push(name ?? '')
  assert.ok(names.includes('models/acme/gemini') && names.includes('models/acme/chat'), names.join(', '))
})

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

/**
 * A conversation with a tool that really runs, through one library of Node. In the environment: LIBRARY; PACKAGES and
 * WORK, folders; TEXTS, a file of what the user asks; URL, KEY, MODEL.
 */
const {
  LIBRARY = '',
  PACKAGES = '',
  TEXTS = '',
  WORK = '',
  URL: url = '',
  KEY: apiKey = '',
  MODEL: model = '',
} = process.env
const required = createRequire(join(PACKAGES, 'package.json'))
const { z } = required('zod')
// Written by the test.
const texts = JSON.parse(readFileSync(TEXTS, 'utf8')) as readonly string[]
const schema = z.object({ path: z.string(), content: z.string() })

interface Edit {
  readonly path: string
  readonly content: string
}

function writeFile({ path, content }: Edit): string {
  writeFileSync(join(WORK, path), content)
  return 'written'
}

async function langchain(): Promise<void> {
  const { ChatOpenAI } = required('@langchain/openai')
  const { HumanMessage } = required('@langchain/core/messages')
  const { tool, createAgent } = required('langchain')
  const chat = new ChatOpenAI({ model, apiKey, configuration: { baseURL: `${url}/v1` }, maxRetries: 0 })
  const tools = [tool(writeFile, { name: 'write_file', description: 'Writes a file.', schema })]
  const agent = createAgent({ model: chat, tools })
  let messages: unknown[] = []
  for (const text of texts) {
    const result = await agent.invoke({ messages: [...messages, new HumanMessage(text)] })
    messages = result.messages
    const last = result.messages.at(-1)
    assert.deepEqual([last.usage_metadata.input_tokens, last.usage_metadata.output_tokens], [1_000, 50])
    process.stdout.write(`${last.text}\n`)
  }
}

/** The Vercel AI SDK with OpenRouter's own provider. */
async function openrouter(): Promise<void> {
  const { createOpenRouter } = required('@openrouter/ai-sdk-provider')
  const { streamText, tool, stepCountIs } = required('ai')
  const provider = createOpenRouter({ baseURL: `${url}/v1`, apiKey })
  const tools = { write_file: tool({ description: 'Writes a file.', inputSchema: schema, execute: writeFile }) }
  const messages: unknown[] = []
  for (const content of texts) {
    messages.push({ role: 'user', content })
    const failures: unknown[] = []
    const answer = streamText({
      model: provider(model, { usage: { include: true } }),
      tools,
      messages,
      stopWhen: stepCountIs(3),
      maxRetries: 0,
      onError: ({ error }: { readonly error: unknown }) => failures.push(error),
    })
    await answer.consumeStream()
    if (failures.length > 0) throw failures[0]
    const usage = await answer.usage
    assert.deepEqual([usage.inputTokens, usage.outputTokens], [1_000, 50])
    const { openrouter: told } = (await answer.providerMetadata) ?? {}
    assert.ok(told.usage.cost > 0)
    messages.push(...(await answer.response).messages)
    process.stdout.write(`${await answer.text}\n`)
  }
}

await (LIBRARY === 'langchain' ? langchain() : openrouter())

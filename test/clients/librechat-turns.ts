import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { parse } from 'yaml'

/**
 * A conversation in LibreChat: the packages of its server that read `librechat.yaml`, talk to a model and run tools.
 * The rest of that server needs a MongoDB. In the environment: PACKAGES and WORK, folders; SETTINGS and TEXTS, files.
 */
const { PACKAGES = '', SETTINGS = '', TEXTS = '', WORK = '' } = process.env
const required = createRequire(join(PACKAGES, 'package.json'))
const agents = required('@librechat/agents')
const { HumanMessage } = required('@langchain/core/messages')
const { configSchema, extractEnvVariable } = required('librechat-data-provider')

// What its server does at the start: an unknown key of the file is an error.
const [endpoint] = configSchema.strict().parse(parse(readFileSync(SETTINGS, 'utf8'))).endpoints.custom
const baseURL = extractEnvVariable(endpoint.baseURL)
const apiKey = extractEnvVariable(endpoint.apiKey)
const model = endpoint.models.default[0]
const provider = agents.Providers.OPENAI
// As its server sets up an agent for a custom endpoint.
const clientOptions = {
  model,
  apiKey,
  streaming: true,
  streamUsage: false,
  usage: true,
  user: '65f0c0ffee',
  configuration: { baseURL },
  maxRetries: 0,
}
const { GraphEvents } = agents
const SHOWN = ['ON_RUN_STEP', 'ON_RUN_STEP_DELTA', 'ON_RUN_STEP_COMPLETED', 'ON_MESSAGE_DELTA'] as const
const tokenCounter = await agents.createTokenCounter()
const messages: unknown[] = []
// Written by the test.
for (const [turn, text] of (JSON.parse(readFileSync(TEXTS, 'utf8')) as readonly string[]).entries()) {
  messages.push(new HumanMessage(text))
  const usage: unknown[] = []
  const { contentParts, aggregateContent } = agents.createContentAggregator()
  const run = await agents.Run.create({
    runId: `turn-${turn}`,
    graphConfig: {
      type: 'standard',
      agents: [
        {
          agentId: 'agent',
          provider,
          clientOptions,
          instructions: 'Be brief.',
          summarizationEnabled: true,
          summarizationConfig: { provider, model },
        },
      ],
    },
    customHandlers: {
      [GraphEvents.TOOL_END]: new agents.ToolEndHandler(),
      [GraphEvents.CHAT_MODEL_END]: new agents.ModelEndHandler(usage),
      [GraphEvents.CHAT_MODEL_STREAM]: new agents.ChatModelStreamHandler(),
      ...Object.fromEntries(
        SHOWN.map((name) => [
          GraphEvents[name],
          { handle: (event: unknown, data: unknown) => aggregateContent({ event, data }) },
        ]),
      ),
    },
    toolExecution: { engine: 'local', local: { cwd: WORK } },
    tokenCounter,
    indexTokenCountMap: Object.fromEntries(messages.map((message, index) => [index, tokenCounter(message)])),
    returnContent: true,
    skipCleanup: true,
  })
  await run.processStream(
    { messages: [...messages] },
    { configurable: { thread_id: 'conversation', user_id: 'user' }, streamMode: 'values', version: 'v2' },
  )
  messages.push(...run.getRunMessages())
  process.stdout.write(`${JSON.stringify({ contentParts, usage })}\n`)
}

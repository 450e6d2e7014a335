import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * A conversation in Cline's core, on which its command line and its editors stand: the command line goes on with a
 * session only in a terminal. In the environment: PACKAGES and WORK, folders; TEXTS, a file; URL, KEY, MODEL.
 */
const { PACKAGES = '', TEXTS = '', WORK = '', URL: url = '', KEY = '', MODEL = '', CONTEXT = '' } = process.env
const { ClineCore } = await import(pathToFileURL(join(PACKAGES, 'node_modules/@cline/core/dist/index.js')).href)
// Written by the test.
const [first = '', ...others] = JSON.parse(readFileSync(TEXTS, 'utf8')) as readonly string[]

const cline = await ClineCore.create({ clientName: 'tollgate-tests', backendMode: 'local' })
const config = {
  providerId: 'openai-compatible',
  modelId: MODEL,
  apiKey: KEY,
  baseUrl: `${url}/v1`,
  cwd: WORK,
  workspaceRoot: WORK,
  mode: 'act',
  enableTools: true,
  enableSpawnAgent: false,
  enableAgentTeams: false,
  systemPrompt: 'Be brief.',
  compaction: { enabled: true },
  knownModels: { [MODEL]: { id: MODEL, name: MODEL, contextWindow: Number(CONTEXT), maxTokens: 1_000 } },
}
const { sessionId, result } = await cline.start({ config, prompt: first, interactive: true })
show(result)
for (const prompt of others) show(await cline.send({ sessionId, prompt }))
await cline.dispose()
process.exit()

function show(
  answer: { readonly text: string; readonly usage: unknown; readonly finishReason: string } | undefined,
): void {
  process.stdout.write(
    `${JSON.stringify({ text: answer?.text, usage: answer?.usage, finish: answer?.finishReason })}\n`,
  )
}

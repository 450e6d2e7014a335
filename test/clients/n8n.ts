import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startPostgres } from '../harness/postgres.ts'
import { CLIENTS, type ClientHome, type Ran, type Target } from './client-run.ts'
import { listen, type LocalServer } from '../harness/scripted-upstream.ts'

/**
 * Runs a workflow of an agent for each text, with one memory and one tool, by n8n's command line. The tool is a request
 * to a server that writes the file. n8n's own database needs a build of SQLite, so it has a PostgreSQL.
 */
export async function runN8n(home: ClientHome, target: Target, texts: readonly string[]): Promise<Ran> {
  const postgres = await startPostgres()
  if (postgres === null) return { code: 1, output: 'n8n: no PostgreSQL on this machine' }
  const writer = await startWriter(home)
  const { port, username, pathname } = new URL(postgres.url)
  const env = {
    DB_TYPE: 'postgresdb',
    DB_POSTGRESDB_HOST: '127.0.0.1',
    DB_POSTGRESDB_PORT: port,
    DB_POSTGRESDB_USER: username,
    DB_POSTGRESDB_DATABASE: pathname.slice(1),
    N8N_DIAGNOSTICS_ENABLED: 'false',
    N8N_VERSION_NOTIFICATIONS_ENABLED: 'false',
    N8N_TEMPLATES_ENABLED: 'false',
    N8N_RUNNERS_ENABLED: 'false',
    N8N_ENCRYPTION_KEY: 'a key of the test',
  }
  const n8n = (...args: readonly string[]): Promise<Ran> =>
    home.run(join(CLIENTS, 'n8n/node_modules/.bin/n8n'), args, env)
  try {
    const credentials = home.file('credentials.json', JSON.stringify(credentialsOf(target)))
    const workflow = home.file('workflow.json', JSON.stringify(workflowOf(target, writer.url, texts)))
    const imported = [
      await n8n('import:credentials', `--input=${credentials}`),
      await n8n('import:workflow', `--input=${workflow}`),
    ]
    const failed = imported.find(({ code }) => code !== 0)
    return failed ?? (await n8n('execute', '--id=turns', '--rawOutput'))
  } finally {
    await writer.close()
    await postgres.stop()
  }
}

async function startWriter({ work }: ClientHome): Promise<LocalServer> {
  return listen((response, { json }) => {
    // Sent by n8n, as the workflow says.
    const { path, content } = json as { readonly path: string; readonly content: string }
    writeFileSync(join(work, path), content)
    response.end('written')
  })
}

function credentialsOf({ url, key }: Target): unknown {
  return [{ id: 'tollgate', name: 'Tollgate', type: 'openAiApi', data: { apiKey: key, url: `${url}/v1` } }]
}

function workflowOf({ model }: Target, writerUrl: string, texts: readonly string[]): unknown {
  const agents = texts.map((_, index) => `Agent ${index + 1}`)
  const node = (name: string, type: string, typeVersion: number, parameters: unknown, more = {}): unknown => ({
    id: name,
    name,
    type,
    typeVersion,
    position: [0, 0],
    parameters,
    ...more,
  })
  const part = (name: string): string => `@n8n/n8n-nodes-langchain.${name}`
  const next = (name: string): unknown => ({ main: [[{ node: name, type: 'main', index: 0 }]] })
  const of = (type: string): unknown => ({ [type]: [agents.map((name) => ({ node: name, type, index: 0 }))] })
  return [
    {
      id: 'turns',
      name: 'Turns',
      active: false,
      settings: {},
      nodes: [
        node('Start', 'n8n-nodes-base.manualTrigger', 1, {}),
        ...texts.map((text, index) => node(agents[index] ?? '', part('agent'), 3.1, { promptType: 'define', text })),
        node(
          'Model',
          part('lmChatOpenAi'),
          1.3,
          { model: { __rl: true, mode: 'id', value: model }, options: { maxRetries: 0 } },
          { credentials: { openAiApi: { id: 'tollgate', name: 'Tollgate' } } },
        ),
        node('Memory', part('memoryBufferWindow'), 1.3, { sessionIdType: 'customKey', sessionKey: 'one' }),
        node('write_file', 'n8n-nodes-base.httpRequestTool', 4.2, {
          toolDescription: 'Writes a file.',
          method: 'POST',
          url: writerUrl,
          sendBody: true,
          bodyParameters: {
            parameters: ['path', 'content'].map((name) => ({
              name,
              value: `={{ $fromAI('${name}', '', 'string') }}`,
            })),
          },
        }),
      ],
      connections: {
        ...Object.fromEntries(
          ['Start', ...agents.slice(0, -1)].map((name, index) => [name, next(agents[index] ?? '')]),
        ),
        Model: of('ai_languageModel'),
        Memory: of('ai_memory'),
        write_file: of('ai_tool'),
      },
    },
  ]
}

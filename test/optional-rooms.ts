const PROTOCOLS = 'src/protocols/index.ts'

/** A part of the program that can be deleted: its folder or file, and its rows in tables. */
export interface Room {
  readonly path: string
  /** The beginning of each row in a file; at most three rows. What a row names is imported by its file only for it. */
  readonly rows: Readonly<Record<string, readonly string[]>>
}

/** A client's side of a protocol is its folder, its row of each table, and that of its type of requests. */
function client(name: string, ...requests: readonly string[]): Room {
  return {
    path: `src/protocols/${name}/client`,
    rows: {
      'src/protocols/clients.ts': [`${name}: `],
      'src/api/reference/client-docs.ts': [`${name}: `],
      ...(requests.length === 0 ? {} : { 'src/tables/model-types.ts': requests.map((type) => `${type}: {`) }),
    },
  }
}

/** A provider's side of a protocol is its folder and its row. */
function provider(name: string, folder = `${name}/provider`): Room {
  return { path: `src/protocols/${folder}`, rows: { [PROTOCOLS]: [`${name.includes('-') ? `'${name}'` : name}: {`] } }
}

export const ROOMS: readonly Room[] = [
  ...['ai-sdk', 'bedrock', 'deepgram', 'elevenlabs', 'gigachat', 'replicate', 'sandbox', 'yandex'].map((name) =>
    provider(name, name),
  ),
  ...['anthropic', 'cohere', 'gemini', 'ollama'].map((name) => provider(name)),
  {
    path: 'src/protocols/responses/provider',
    rows: { 'src/protocols/openai/provider/openai.ts': ['responses: '] },
  },
  client('anthropic', 'messages'),
  client('gemini', 'generate_content'),
  client('cohere', 'cohere_chat'),
  client('ollama'),
  { path: 'src/nodes/valkey', rows: { 'src/app/services.ts': ['shared: '] } },
  { path: 'src/telemetry', rows: { 'src/main.ts': ['telemetry: '] } },
  {
    path: 'src/catalog/feeds',
    rows: { 'src/app/services.ts': ['...openFeeds('], 'src/main.ts': ['fetchLists: '] },
  },
  ...[
    ['mail', "['email', "],
    ['telegram', "['telegram', "],
    ['webhook', "['webhook', "],
  ].map(([file = '', row = '']) => ({ path: `src/notices/${file}.ts`, rows: { 'src/notices/notices.ts': [row] } })),
  {
    path: 'src/api/cabinet/oidc',
    rows: {
      'src/api/cabinet/index.ts': ['oidc: '],
      'src/api/reference/public-routes.ts': ["'GET /cabinet/v1/oidc/start': ", "'GET /cabinet/v1/oidc/callback': "],
    },
  },
  {
    path: 'src/api/cabinet/yookassa.ts',
    rows: {
      'src/api/cabinet/index.ts': ['yookassa: '],
      'src/api/reference/public-routes.ts': ["'POST /cabinet/v1/payments/notifications/yookassa': "],
    },
  },
]
export const ROWS_MAX = 3

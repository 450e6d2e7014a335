const PROTOCOLS = 'src/protocols/index.ts'

/** A part of the program that can be deleted: its folders or files, and its rows in tables. */
export interface Room {
  readonly paths: readonly string[]
  /** The beginning of each row in a file; at most three rows. What a row names is imported by its file only for it. */
  readonly rows: Readonly<Record<string, readonly string[]>>
  /** The room that stands on it, and goes first. */
  readonly under?: Room
}

/** Every file and folder that goes with a room, and every row. */
export function taken({ paths, rows, under }: Room): Pick<Room, 'paths' | 'rows'> {
  if (under === undefined) return { paths, rows }
  const other = taken(under)
  const names = [...new Set([...Object.keys(rows), ...Object.keys(other.rows)])]
  return {
    paths: [...paths, ...other.paths],
    rows: Object.fromEntries(names.map((name) => [name, [...(rows[name] ?? []), ...(other.rows[name] ?? [])]])),
  }
}

/** A client's side of a protocol is its folder, its row of each table, and that of its type of requests. */
function client(name: string, ...requests: readonly string[]): Room {
  return {
    paths: [`src/protocols/${name}/client`],
    rows: {
      'src/protocols/clients.ts': [`${name}: `],
      'src/api/reference/public-routes.ts': [`${name}: `],
      ...(requests.length === 0 ? {} : { 'src/tables/model-types.ts': requests.map((type) => `${type}: {`) }),
    },
  }
}

/** A provider's side of a protocol is its folder and its row. */
function provider(name: string, folder = `${name}/provider`): Room {
  return {
    paths: [`src/protocols/${folder}`],
    rows: { [PROTOCOLS]: [`${name.includes('-') ? `'${name}'` : name}: {`] },
  }
}

/** One that makes videos has a file and a row there. */
function videoProvider(name: string, folder: string, file = name): Room {
  const { paths, rows } = provider(name, folder)
  return {
    paths: [...paths, `src/protocols/videos/${file}.ts`],
    rows: { ...rows, 'src/protocols/videos/videos.ts': [`${name}: (`] },
  }
}

/** Kept answers, those in the background, and those over a WebSocket. */
const KEPT_RESPONSES: Room = {
  paths: ['src/pay/responses', 'src/store/responses'],
  rows: { 'src/pay/rooms.ts': ['responses: '], 'src/store/store.ts': ['responses: '] },
}

const SANDBOX = videoProvider('sandbox', 'sandbox')

export const ROOMS: readonly Room[] = [
  ...['ai-sdk', 'bedrock', 'deepgram', 'elevenlabs', 'gigachat', 'yandex'].map((name) => provider(name, name)),
  ...['anthropic', 'cohere', 'ollama'].map((name) => provider(name)),
  videoProvider('gemini', 'gemini/provider', 'veo'),
  videoProvider('replicate', 'replicate'),
  { ...SANDBOX, rows: { ...SANDBOX.rows, 'src/protocols/moderations.ts': ['sandbox: '] } },
  {
    paths: ['src/protocols/responses/provider'],
    rows: { 'src/protocols/openai/provider/openai.ts': ['responses: '] },
  },
  {
    paths: [
      'src/kinds/moderations.ts',
      'src/pay/operations/moderations.ts',
      'src/protocols/moderations.ts',
      'src/protocols/openai/client/moderations.ts',
      'src/protocols/openai/provider/moderations.ts',
      'src/protocols/sandbox/moderations.ts',
    ],
    rows: {
      'src/pay/operations/index.ts': ['moderation: '],
      'src/api/reference/public-routes.ts': ["'POST /v1/moderations': "],
    },
  },
  client('anthropic', 'messages'),
  client('gemini', 'generate_content'),
  client('cohere', 'cohere_chat'),
  client('ollama'),
  KEPT_RESPONSES,
  { ...client('responses', 'responses'), under: KEPT_RESPONSES },
  {
    paths: ['src/pay/videos', 'src/protocols/videos', 'src/store/jobs'],
    rows: {
      'src/pay/rooms.ts': ['videos: '],
      'src/store/store.ts': ['jobs: '],
      'src/api/admin/contract.ts': ['...VIDEO_ROUTES'],
    },
  },
  { paths: ['src/nodes/valkey'], rows: { 'src/app/services.ts': ['shared: '] } },
  { paths: ['src/telemetry'], rows: { 'src/main.ts': ['telemetry: '] } },
  {
    paths: ['src/catalog/feeds'],
    rows: { 'src/app/services.ts': ['...openFeeds('], 'src/main.ts': ['fetchLists: '] },
  },
  ...[
    ['mail', "['email', "],
    ['telegram', "['telegram', "],
    ['webhook', "['webhook', "],
  ].map(([file = '', row = '']) => ({ paths: [`src/notices/${file}.ts`], rows: { 'src/notices/notices.ts': [row] } })),
  {
    paths: ['src/api/focus'],
    rows: {
      'src/api/admin/contract.ts': ['...FOCUS_ROUTES,'],
      'src/api/admin/index.ts': ['...focusAdminRoutes('],
      'src/api/cabinet/files.ts': ['focus: '],
    },
  },
  {
    paths: ['src/api/admin/reconciliation', 'src/cli/reconcile-command.ts'],
    rows: {
      'src/api/admin/contract.ts': ['...RECONCILIATION_ROUTES,'],
      'src/api/admin/index.ts': ['...reconciliationAdminRoutes('],
      'src/cli/run-command.ts': ['RECONCILE_COMMAND,'],
    },
  },
  {
    paths: ['src/api/cabinet/oidc'],
    rows: {
      'src/api/cabinet/index.ts': ['oidc: '],
      'src/api/reference/public-routes.ts': ["'GET /cabinet/v1/oidc/start': ", "'GET /cabinet/v1/oidc/callback': "],
    },
  },
  {
    paths: ['src/api/cabinet/yookassa.ts'],
    rows: {
      'src/api/cabinet/index.ts': ['yookassa: '],
      'src/api/reference/public-routes.ts': ["'POST /cabinet/v1/payments/notifications/yookassa': "],
    },
  },
]
export const ROWS_MAX = 3

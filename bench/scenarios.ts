/** The number of chunks in every stream and every speech. */
export const CHUNKS = 100

/** The servers that a load measures; each is a row of the table. */
export type ServerName = 'nginx' | 'raw' | 'http' | 'embedded' | 'postgres' | 'workers' | 'peers'

/** Protocols of clients, and of providers that stream. */
export const CLIENTS = ['chat', 'responses', 'messages', 'gemini', 'cohere'] as const
export type ClientName = (typeof CLIENTS)[number]
type ProviderModel = 'burst' | 'responses' | 'translated' | 'gemini' | 'cohere'

export interface Scenario {
  readonly name: string
  readonly model: 'plain' | 'reasoned' | 'paced' | 'vectors' | 'voice' | ProviderModel
  /** The client's protocol, for a stream. */
  readonly client: ClientName
  /** The prompt, each of the 2,048 inputs of `vectors`, or the text of the speech. */
  readonly prompt: string
  /** Steps of an agent, each a call of a tool and its result, among which the prompt is divided; 0 = it is one message. */
  readonly steps: number
  readonly clients: number
  /** Number of accounts, each with one key. */
  readonly accounts: number
  /** The number of requests or chunks that one answer counts as. */
  readonly parts: number
  readonly servers: readonly ServerName[]
}

const ACCOUNTS = 32
const MANY_ACCOUNTS = 10_000
const PRODUCT: readonly ServerName[] = ['nginx', 'embedded']
const REFERENCES: readonly ServerName[] = ['nginx', 'raw', 'http', 'embedded', 'peers']
const ALL: readonly ServerName[] = [...REFERENCES, 'postgres', 'workers']

const LATIN = 'What does the fake provider say today? '
const RUSSIAN = 'Что сегодня отвечает поставщик, которого нет? '
const SHORT = cut(LATIN, 200)
const RUSSIAN_PROMPT = cut(RUSSIAN, 30_000)
const AGENT = { prompt: cut(LATIN, 60_000), steps: 30 } as const
const AS_MANY_BYTES = cut(LATIN, Buffer.byteLength(RUSSIAN_PROMPT))

export const SCENARIOS: readonly Scenario[] = [
  chat('chat, 1 kB answer', { servers: ALL }),
  chat('chat, 1 kB answer', { servers: ALL, clients: 1 }),
  chat('chat, 10,000 accounts', { accounts: MANY_ACCOUNTS }),
  chat('chat, 100 kB prompt', { servers: REFERENCES, prompt: cut(LATIN, 100_000) }),
  chat('chat, Russian prompt of 30,000 characters', { prompt: RUSSIAN_PROMPT }),
  chat('chat, Latin prompt of as many bytes', { prompt: AS_MANY_BYTES }),
  chat('chat, cached prompt and reasoning', { model: 'reasoned' }),
  stream('stream of 100 chunks, at once', 'burst', 32, REFERENCES),
  // The others pass on the OpenAI stream; Tollgate makes it from Anthropic's events.
  stream('stream of 100 chunks, at once, translated', 'translated', 32, PRODUCT),
  stream('stream of 100 chunks, over a second', 'paced', 32, REFERENCES),
  stream('stream of 100 chunks, over a second', 'paced', 256, REFERENCES),
  { ...chat('speech of 400 kB in 100 chunks', { model: 'voice', prompt: cut(LATIN, 300) }), parts: CHUNKS },
  ...pairs(),
  // What coding agents send: tools, and a conversation of calls and their results.
  { ...stream('agent of chat, 100 kB', 'burst', 32, PRODUCT), ...AGENT },
  { ...stream('agent of Messages, 100 kB', 'translated', 32, PRODUCT), ...AGENT, client: 'messages' },
  { ...stream('agent of Responses, 100 kB', 'responses', 32, PRODUCT), ...AGENT, client: 'responses' },
  { ...stream('agent of Messages at OpenAI, 100 kB', 'burst', 32, PRODUCT), ...AGENT, client: 'messages' },
  // 140 kB of request, 16.8 MB of answer.
  chat('embeddings of 2,048 inputs', { model: 'vectors', prompt: cut(LATIN, 60), clients: 4 }),
]

export function scenarioOf(name: string): Scenario {
  const found = SCENARIOS.find((each) => each.name === name)
  if (found === undefined) throw new Error(`No load is named ${name}.`)
  return found
}

/** Streams by protocol of the provider and of the client; if both are the same, nothing is translated. */
function pairs(): readonly Scenario[] {
  const providers = { OpenAI: 'burst', Anthropic: 'translated', Gemini: 'gemini', Cohere: 'cohere' } as const
  const own = {
    ...stream('stream from Responses to responses', 'responses', 32, PRODUCT),
    client: 'responses',
  } as const
  return [
    own,
    ...Object.entries(providers).flatMap(([name, model]) =>
      CLIENTS.map((client) => ({ ...stream(`stream from ${name} to ${client}`, model, 32, PRODUCT), client })),
    ),
  ]
}

function chat(name: string, differing: Partial<Scenario>): Scenario {
  return {
    name,
    model: 'plain',
    client: 'chat',
    prompt: SHORT,
    steps: 0,
    clients: 32,
    accounts: ACCOUNTS,
    parts: 1,
    servers: PRODUCT,
    ...differing,
  }
}

function stream(
  name: string,
  model: ProviderModel | 'paced',
  clients: number,
  servers: readonly ServerName[],
): Scenario {
  return { ...chat(name, { model, clients, servers }), parts: CHUNKS }
}

function cut(sentence: string, chars: number): string {
  return sentence.repeat(Math.ceil(chars / sentence.length)).slice(0, chars)
}

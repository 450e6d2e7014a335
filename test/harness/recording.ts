import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { madeMedia, type MediaSpec } from './made-media.ts'

const FOLDER = join(import.meta.dirname, '../recordings')

/** The adapters of the protocols in which providers answer a chat. */
export const CHAT_ADAPTERS: Readonly<Record<string, string>> = {
  'openai-chat': 'openai',
  'anthropic-messages': 'anthropic',
  'gemini-generate': 'gemini',
  'bedrock-converse': 'bedrock',
  'cohere-v1-chat': 'cohere',
  'cohere-v2-chat': 'cohere',
  'ollama-chat': 'ollama',
}

export interface ExpectedChoice {
  readonly index: number
  readonly text: string | null
  readonly reasoning: string | null
  readonly refusal: string | null
  readonly tool_calls: readonly { readonly id: string | null; readonly name: string; readonly arguments: string }[]
  readonly finish_reason: string | null
  readonly finish_reason_native: string | null
}

/** The answer that a client is expected to get from a recording. */
export interface Expected {
  readonly choices?: readonly ExpectedChoice[]
  readonly usage?: {
    readonly prompt_tokens: number
    readonly completion_tokens: number
    readonly cached_tokens?: number
    readonly reasoning_tokens?: number
  } | null
  /** The provider's own usage object; in a stream, its last state. */
  readonly usage_native?: Readonly<Record<string, unknown>> | null
  readonly stream_error?: unknown
  readonly error?: { readonly status: number; readonly message: string | null }
  /** Types of items that exist only in the provider's protocol. */
  readonly other_items?: readonly string[]
  /** For sounds and files. */
  readonly bytes?: number
  readonly sha256?: string
  /** For transcripts. */
  readonly text?: string
  readonly language?: string
  readonly duration?: number
  readonly segments?: number
  readonly words?: number
  /** For embeddings. */
  readonly count?: number
  readonly vectors?: readonly { readonly dims: number; readonly first: readonly number[] }[]
  /** For rankings. */
  readonly results?: readonly { readonly index: number; readonly score: number }[]
  readonly images?: readonly {
    readonly sha256?: string
    readonly url_prefix?: string
    readonly revised_prompt?: string
  }[]
  /** For jobs. */
  readonly id?: string
  readonly status?: string
}

/** One exchange. A case has one, or several in order if a job is polled. */
export interface Exchange {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The format of the body: json, sse, ndjson, eventstream, or a file's extension. */
  readonly framing: string
  readonly body: Buffer
  readonly expected: Expected
  /** For jobs: the request that it answers. */
  readonly request: {
    readonly method: string
    readonly host: string
    readonly path: string
    readonly body?: unknown
  } | null
}

export interface RecordedCase extends Exchange {
  /** `<provider>/<kind>/<case>`. */
  readonly name: string
  readonly protocol: string
  /** As in the request; an error for a streaming request is one JSON body. */
  readonly streaming: boolean
  /** Empty unless it is a job, whose first step is the case itself. */
  readonly steps: readonly Exchange[]
}

/** A stored body: text, with media that are generated when it is read, or base64 if it is not text. */
export type KeptBody =
  | string
  | { readonly base64: string }
  | readonly (string | (MediaSpec & { readonly as: 'base64' | 'base64url' | 'bytes' }))[]

export interface KeptExchange {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly framing: string
  readonly body: KeptBody
  readonly expected: Expected
  readonly request?: Exchange['request']
}

/** One line of a file in test/recordings. */
export interface KeptCase {
  readonly name: string
  readonly protocol: string
  readonly streaming: boolean
  readonly exchanges: readonly KeptExchange[]
}

let cases: readonly RecordedCase[] | null = null

/**
 * The recorded cases of the project, by name, or those that `isChosen` selects; they are read once per process. There
 * must be at least one, since a test of none could not fail.
 */
export function recordedCases(isChosen: (recorded: RecordedCase) => boolean = () => true): readonly RecordedCase[] {
  cases ??= globSync('*.jsonl', { cwd: FOLDER })
    .toSorted()
    .flatMap((file) => readFileSync(join(FOLDER, file), 'utf8').split('\n'))
    .filter((line) => line !== '')
    // scripts/recordings.ts wrote the file in this form.
    .map((line) => caseOf(JSON.parse(line) as KeptCase))
  const chosen = cases.filter(isChosen)
  assert.ok(chosen.length > 0, 'No recorded case is chosen.')
  return chosen
}

/** The case of that name; throws for an unknown name. */
export function recordedCase(name: string): RecordedCase {
  const found = recordedCases().find((recorded) => recorded.name === name)
  if (found === undefined) throw new Error(`no recorded case ${name}`)
  return found
}

export function caseOf({ name, protocol, streaming, exchanges }: KeptCase): RecordedCase {
  const steps = exchanges.map((exchange): Exchange => ({
    ...exchange,
    body: bytesOf(exchange.body),
    request: exchange.request ?? null,
  }))
  const [first] = steps
  if (first === undefined) throw new Error(`${name} has no exchange`)
  return { ...first, name, protocol, streaming, steps: first.request === null ? [] : steps }
}

export function bytesOf(body: KeptBody): Buffer {
  if (typeof body === 'string') return Buffer.from(body)
  if ('base64' in body) return Buffer.from(body.base64, 'base64')
  return Buffer.concat(
    body.map((part) => {
      if (typeof part === 'string') return Buffer.from(part)
      const made = madeMedia(part)
      return part.as === 'bytes' ? made : Buffer.from(made.toString(part.as))
    }),
  )
}

/** A repeatable sequence in [0, 1), so that a failing cut can be reproduced. */
export function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** A body in pieces, as a network might deliver it. */
export function cutAtRandom(body: Buffer, random: () => number): readonly Buffer[] {
  const pieces: Buffer[] = []
  const longest = 1 + Math.floor(random() * 400)
  for (let start = 0; start < body.length;) {
    const end = start + 1 + Math.floor(random() * longest)
    pieces.push(body.subarray(start, end))
    start = end
  }
  return pieces
}

import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, extname, join } from 'node:path'
import type { Expected, KeptBody, KeptCase, KeptExchange } from '../../test/harness/recording.ts'
import { formatOf, madeMedia, type MediaSpec } from '../../test/harness/made-media.ts'
import { jsonTextsOf, mappedBody } from './body-mapping.ts'
import { CaseMapping, EXPECTED } from './case-mapping.ts'

/** The members of a source's case that tests read; other members describe the recording and are dropped. */
const MEMBERS = [
  'choices',
  'usage',
  'usage_native',
  'stream_error',
  'error',
  'other_items',
  'text',
  'language',
  'duration',
  'segments',
  'words',
  'count',
  'vectors',
  'results',
  'images',
  'id',
  'status',
  'bytes',
  'sha256',
]
const CHOICE = ['index', 'text', 'reasoning', 'refusal', 'tool_calls', 'finish_reason', 'finish_reason_native']
const CALL = ['id', 'name', 'arguments']
const USAGE = ['prompt_tokens', 'completion_tokens', 'cached_tokens', 'reasoning_tokens']
const IMAGE = ['sha256', 'url_prefix', 'revised_prompt']
const VECTOR = ['dims', 'first']
const ERROR = ['status', 'message']

type Fields = Readonly<Record<string, unknown>>

/** A case as described in its folder; `meta.json` has more members. */
interface SourceExchange {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body_file: string
  readonly expected: Fields
  readonly request?: { readonly method: string; readonly host: string; readonly path: string }
}

/** Cases whose expected answer is wrong in the source: there each piece of the arguments is a separate call. */
const CORRECTED: Readonly<Record<string, { readonly tool_calls: readonly Fields[] }>> = {
  'gemini/chat/v-google-stream-tool-call-arguments': {
    tool_calls: ['Boston', 'San Francisco'].map((location) => ({
      id: null,
      name: 'getWeather',
      arguments: JSON.stringify({ location }),
    })),
  },
}

interface SourceCase extends SourceExchange {
  readonly case: string
  readonly protocol: string
  readonly streaming: boolean
  readonly origin: string
  readonly fidelity?: string
  readonly source: {
    readonly repo?: string
    readonly path?: string
    readonly commit?: string
    readonly licence?: string
    readonly url?: string
  }
  readonly steps?: readonly SourceExchange[]
}

/** A stored case, and its line in the table of sources. */
export interface Row {
  readonly kept: KeptCase
  readonly source: readonly string[]
}

/** The case of a folder, with all human and model text replaced. */
export function rowOf(folder: string): Row {
  // The usage line describes this layout.
  const meta = JSON.parse(readFileSync(join(folder, 'meta.json'), 'utf8')) as SourceCase
  const exchanges = meta.steps ?? [meta]
  const mapping = new CaseMapping(
    meta.case,
    meta.protocol,
    meta.steps?.flatMap(({ request }) => (request === undefined ? [] : [request.host])) ?? [],
  )
  const bodies = exchanges.map(({ body_file: file }) => ({
    extension: extname(file).slice(1),
    bytes: readFileSync(join(folder, file)),
  }))
  for (const { extension, bytes } of bodies) for (const json of jsonTextsOf(bytes, extension)) mapping.learn(json)
  const kept = exchanges.map((exchange, index): KeptExchange => {
    const { extension, bytes } = bodies[index] ?? { extension: '', bytes: Buffer.alloc(0) }
    return exchangeOf(
      meta.case,
      exchange,
      extension,
      bytes,
      mapping,
      meta.steps === undefined ? null : join(folder, dirname(exchange.body_file), 'request.json'),
    )
  })
  const { repo = meta.source.url ?? '', path = '', commit = '', licence = '' } = meta.source
  const made = [
    ...new Set(
      kept.flatMap(({ body }) =>
        Array.isArray(body) ? body.flatMap((part) => (typeof part === 'string' ? [] : [part.format])) : [],
      ),
    ),
  ]
  return {
    kept: { name: meta.case, protocol: meta.protocol, streaming: meta.streaming, exchanges: kept },
    source: [
      meta.case,
      meta.protocol,
      meta.origin,
      meta.fidelity ?? 'raw',
      repo,
      path,
      commit,
      licence,
      made.join(' '),
    ].map((field) => field.replaceAll(/\s+/g, ' ') || '-'),
  }
}

/** `requestFile` is set for the steps of a job. */
function exchangeOf(
  name: string,
  { status, headers, expected, request }: SourceExchange,
  framing: string,
  bytes: Buffer,
  mapping: CaseMapping,
  requestFile: string | null,
): KeptExchange {
  const file = fileSpec(bytes, framing)
  const mapped = file === null ? mappedBody(bytes, framing, mapping) : madeMedia(file)
  const body: KeptBody = file === null ? keptBody(mapped, framing, mapping.media) : [{ ...file, as: 'bytes' }]
  const kept: KeptExchange = {
    status,
    headers,
    framing,
    body,
    expected: expectedOf(corrected(name, expected), mapping, mapped),
  }
  if (requestFile === null || request === undefined) return kept
  const { method, host, path } = request
  const sent: Fields = existsSync(requestFile)
    ? { body: JSON.parse(mapping.json(readFileSync(requestFile, 'utf8'))) }
    : {}
  return { ...kept, request: { method, host, path: mapping.path(path), ...sent } }
}

function corrected(name: string, expected: Fields): Fields {
  const calls = CORRECTED[name]
  return calls === undefined
    ? expected
    : { ...expected, choices: each(expected['choices'], (choice) => ({ ...only(choice, CHOICE), ...calls })) }
}

function fileSpec(bytes: Buffer, framing: string): MediaSpec | null {
  const format = formatOf(bytes)
  return format !== null && ['mp3', 'mp4', 'png'].includes(framing) ? { format, bytes: bytes.length, seed: 0 } : null
}

function keptBody(body: Buffer, framing: string, media: ReadonlyMap<string, MediaSpec>): KeptBody {
  if (framing === 'eventstream') return { base64: body.toString('base64') }
  let parts: (string | (MediaSpec & { readonly as: 'base64' | 'base64url' }))[] = [body.toString('utf8')]
  for (const [text, spec] of media) {
    const as = /[-_]/.test(text) ? 'base64url' : 'base64'
    parts = parts.flatMap((part) =>
      typeof part === 'string'
        ? part.split(text).flatMap((piece, index) => (index === 0 ? [piece] : [{ ...spec, as } as const, piece]))
        : [part],
    )
  }
  return parts.length === 1 && typeof parts[0] === 'string' ? parts[0] : parts
}

function only(value: unknown, names: readonly string[]): Fields {
  const object: Fields = Object(value)
  return Object.fromEntries(names.filter((name) => object[name] !== undefined).map((name) => [name, object[name]]))
}

function each(value: unknown, map: (item: unknown) => unknown): unknown {
  return Array.isArray(value) ? value.map(map) : undefined
}

function expectedOf(source: Fields, mapping: CaseMapping, body: Buffer): Expected {
  const chosen = {
    ...only(source, MEMBERS),
    choices: each(source['choices'], (choice) => ({
      ...only(choice, CHOICE),
      tool_calls: each(Object(choice)['tool_calls'] ?? [], (call) => only(call, CALL)),
    })),
    ...(source['usage'] === undefined || source['usage'] === null ? {} : { usage: only(source['usage'], USAGE) }),
    ...(source['error'] === undefined ? {} : { error: only(source['error'], ERROR) }),
    images: each(source['images'], (image) => only(image, IMAGE)),
    vectors: each(source['vectors'], (vector) => only(vector, VECTOR)),
  }
  // The fields of the type were selected above.
  const mapped = JSON.parse(mapping.json(JSON.stringify(chosen), [EXPECTED])) as Expected
  if (mapped.sha256 !== undefined) return { ...mapped, sha256: sha256(body) }
  // In the order of the pictures of the answer.
  const made = [...mapping.media.values()].map((spec) => sha256(madeMedia(spec)))
  const { images } = mapped
  return images === undefined
    ? mapped
    : {
        ...mapped,
        images: images.map(({ sha256: _recorded, ...image }, index) =>
          made[index] === undefined ? image : { ...image, sha256: made[index] },
        ),
      }
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

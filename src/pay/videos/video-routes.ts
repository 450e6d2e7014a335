import { appIdentity, endUserOf } from '../../access/app-identity.ts'
import type { Principal } from '../../access/principal.ts'
import { ApiError, type ErrorName } from '../../base/errors.ts'
import { choiceParameter, wholeParameter } from '../../base/query-parameters.ts'
import {
  either,
  flag,
  list,
  nullable,
  number,
  object,
  oneOf,
  only,
  optional,
  rub,
  text,
  whole,
} from '../../base/schema.ts'
import type { WireRoute } from '../../base/wire-route.ts'
import { type Call, HIJACKED, type Reply, type Route } from '../../http/edge.ts'
import { parseMultipart } from '../../http/multipart.ts'
import { publicUrlOf } from '../../http/public-url.ts'
import { byteRange, sendBytes } from '../../http/reply.ts'
import {
  type OutwardName,
  PROMPT_MEMBERS,
  outwardBody,
  outwardForm,
  refuseNulInForm,
} from '../../kinds/fields/outward-names.ts'
import { VideoBody, parseVideo, parseVideoForm } from '../../protocols/videos/client.ts'
import type { VideoCall, VideoRequest } from '../../protocols/videos/request.ts'
import { type IdempotentCalls, payerOf } from '../idempotency/idempotent-calls.ts'
import type { RoomEdge } from '../paid-room.ts'
import type { AccountVideos } from './account-videos.ts'

const LIMIT_DEFAULT = 10
const LIMIT_MAX = 300
const LIST_DEFAULT = 20
const LIST_PARAMETERS = ['limit', 'after', 'order'] as const
const LIST_MAX = 100

export interface VideoRoutePorts extends Pick<RoomEdge, 'publicUrl' | 'outwardName'> {
  readonly videos: AccountVideos
  readonly idempotency: Pick<IdempotentCalls, 'job'>
}

/**
 * Video jobs (wire.md 4): created here, processed by the server in the background, polled as often as the client likes.
 */
export function videoRoutes(ports: VideoRoutePorts): readonly Route<Principal>[] {
  const route = (
    method: Route<Principal>['method'],
    path: string,
    handle: Route<Principal>['handle'],
    priority?: Route<Principal>['priority'],
  ): Route<Principal> => ({
    method,
    path,
    plane: 'key',
    body: method === 'POST' ? 'json-or-multipart' : 'none',
    prompts: PROMPT_MEMBERS,
    handle,
    ...(priority === undefined ? {} : { priority }),
  })
  const show = (call: Call<Principal>): Promise<Reply> => shown(ports, call)
  const content = (call: Call<Principal>): Promise<typeof HIJACKED> => sent(ports, call)
  const remove = (call: Call<Principal>): Promise<Reply> => removed(ports, call)
  return [
    route('POST', '/v1/videos', (call) => created(ports, call), 'paid'),
    route('GET', '/v1/videos', (call) => (asksForList(call) ? listed(ports, call) : show(call))),
    route('GET', '/v1/videos/history', (call) => history(ports, call), 'low'),
    route('GET', '/v1/videos/content', content),
    route('GET', '/v1/videos/:id', show),
    route('GET', '/v1/videos/:id/content', content),
    route('DELETE', '/v1/videos', remove),
    route('DELETE', '/v1/videos/:id', remove),
  ]
}

function created(
  { videos, idempotency, publicUrl, outwardName }: VideoRoutePorts,
  call: Call<Principal>,
): Promise<Reply> {
  const principal = payerOf(call)
  const { endUser, ...read } = requestOf(call, (name) => outwardName(principal.accountId, name))
  const request = withSession(read.request, call)
  const address = publicUrlOf(publicUrl, call)
  const { requestId, arrivedAtMs } = call
  const create = async (id: string | null): Promise<Reply> =>
    accepted(
      call,
      await videos.create(
        principal,
        {
          ...(id === null ? {} : { id }),
          request,
          requestId,
          arrivedAtMs,
          ...appIdentity(call.request.headers, call.request.url),
          endUser,
        },
        address,
      ),
    )
  return idempotency.job(call, create, async (id) => accepted(call, await videos.show(principal, id, address)))
}

/** The body as an object: OpenAI's clients send a form, with or without a file. */
function requestOf(
  { json, request: { headers }, rawBody }: Call<Principal>,
  outward: OutwardName,
): Pick<VideoCall, 'request' | 'endUser'> {
  if (json !== undefined) return { request: parseVideo(outwardBody(json, outward)), endUser: endUserOf(json) }
  const form = parseMultipart(headers['content-type'], rawBody ?? Buffer.alloc(0))
  refuseNulInForm(form)
  const request = parseVideoForm(outwardForm(form, outward))
  return { request, endUser: endUserOf(Object.fromEntries(form.fields)) }
}

function accepted(call: Call<Principal>, record: Record<string, unknown>): Reply {
  const id = String(record['id'])
  call.log.set({ generation_id: id, model: String(record['model']), status_text: String(record['status']) })
  return { status: 202, body: record, headers: { 'x-generation-id': id } }
}

/** The request with the header's session id if the body has none. */
function withSession(request: VideoRequest, { request: { headers } }: Call<Principal>): VideoRequest {
  const session = headers['x-session-id']
  return request.sessionId === null && typeof session === 'string' && /^[\x21-\x7e]{1,256}$/.test(session)
    ? { ...request, sessionId: session }
    : request
}

async function shown({ videos, publicUrl }: VideoRoutePorts, call: Call<Principal>): Promise<Reply> {
  return {
    status: 200,
    body: await videos.show(payerOf(call), idOf(call), publicUrlOf(publicUrl, call)),
  }
}

/** `GET /v1/videos` is for one job, and `videos.list` of OpenAI's SDKs has the same path (wire.md D-4.7). */
function asksForList({ query, request }: Call<Principal>): boolean {
  if (query.has('id')) return false
  return LIST_PARAMETERS.some((name) => query.has(name)) || request.headers['x-stainless-lang'] !== undefined
}

/** Jobs of every status, by page, as OpenAI's clients list them. */
async function listed({ videos, publicUrl }: VideoRoutePorts, call: Call<Principal>): Promise<Reply> {
  const limit = Math.min(LIST_MAX, wholeParameter(call.query, 'limit', 1, Number.MAX_SAFE_INTEGER) ?? LIST_DEFAULT)
  const order = choiceParameter(call.query, 'order', { enum: ['asc', 'desc'] }) ?? 'desc'
  const page = { limit: limit + 1, after: call.query.get('after'), ascending: order === 'asc' }
  const found = await videos.list(payerOf(call), page, publicUrlOf(publicUrl, call))
  const data = found.slice(0, limit)
  const [first, last] = [data[0]?.['id'] ?? null, data.at(-1)?.['id'] ?? null]
  const body = { object: 'list', data, first_id: first, last_id: last, has_more: found.length > limit }
  return { status: 200, body }
}

async function history({ videos, publicUrl }: VideoRoutePorts, call: Call<Principal>): Promise<Reply> {
  const limit = Math.min(LIMIT_MAX, wholeParameter(call.query, 'limit', 1, Number.MAX_SAFE_INTEGER) ?? LIMIT_DEFAULT)
  const offset = wholeParameter(call.query, 'offset', 0, Number.MAX_SAFE_INTEGER) ?? 0
  const { data, total } = await videos.history(payerOf(call), limit, offset, publicUrlOf(publicUrl, call))
  return { status: 200, body: { object: 'list', data, total, has_more: offset + data.length < total } }
}

async function removed({ videos }: VideoRoutePorts, call: Call<Principal>): Promise<Reply> {
  const id = idOf(call)
  await videos.remove(payerOf(call), id)
  return { status: 200, body: { id, object: 'video.deleted', deleted: true } }
}

function idOf({ params, query }: Call<Principal>): string {
  const id = params['id'] ?? query.get('id') ?? ''
  if (id === '') throw new ApiError('missing_job_id', "Query parameter 'id' is required")
  return id
}

async function sent(ports: VideoRoutePorts, call: Call<Principal>): Promise<typeof HIJACKED> {
  const { request, response, baseHeaders, log } = call
  const id = idOf(call)
  const file = await ports.videos.file(
    payerOf(call),
    id,
    wholeParameter(call.query, 'index', 0, Number.MAX_SAFE_INTEGER) ?? 0,
  )
  // We send no validator, so a conditional range can never match: the whole file is sent.
  const range = request.headers['if-range'] === undefined ? byteRange(request.headers.range, file.bytes) : null
  if (range === 'unsatisfiable')
    throw new ApiError('invalid_range', 'Range not satisfiable', {
      headers: { 'content-range': `bytes */${file.bytes}` },
    })
  const { start, end } = range ?? { start: 0, end: file.bytes - 1 }
  const status = range === null ? 200 : 206
  response.writeHead(status, {
    ...baseHeaders,
    'content-type': file.mediaType,
    'content-length': end - start + 1,
    'content-disposition': `attachment; filename="${id}.${extensionOf(file.mediaType)}"`,
    'accept-ranges': 'bytes',
    ...(range === null ? {} : { 'content-range': `bytes ${start}-${end}/${file.bytes}` }),
  })
  if (request.method === 'HEAD') response.end()
  else await sendBytes(response, ports.videos.read(file, { start, end })).catch(() => response.destroy())
  log.finish(status)
  return HIJACKED
}

function extensionOf(mediaType: string): string {
  return mediaType === 'video/webm' ? 'webm' : mediaType === 'video/quicktime' ? 'mov' : 'mp4'
}

/** A video job (wire.md D-4.1). */
const VideoRecord = object({
  id: text(),
  job_id: text(),
  object: only('video'),
  status: oneOf(['pending', 'in_progress', 'completed', 'failed', 'cancelled', 'expired']),
  polling_url: text(),
  model: text(),
  prompt: text(),
  size: nullable(text()),
  duration: nullable(whole('Seconds.')),
  progress: whole('Per cent.'),
  created_at: whole('Unix seconds.'),
  completed_at: nullable(whole()),
  expires_at: nullable(number()),
  generation_id: optional(text()),
  unsigned_urls: optional(list(text())),
  error: optional(text()),
  error_type: optional(text()),
  usage: either(
    object({ estimated_cost: rub(), currency: only('RUB') }),
    object({ cost: rub(), currency: only('RUB'), is_byok: only(false) }),
  ),
})
const VideoHistory = object({
  object: only('list'),
  data: list(VideoRecord),
  total: whole(),
  has_more: flag(),
})
const VideoList = object({
  object: only('list'),
  data: list(VideoRecord),
  first_id: nullable(text()),
  last_id: nullable(text('`after` of the next page.')),
  has_more: flag(),
})
/** With an id one record, without it the list. */
const VideoQuery = object({
  id: optional(text('Of one job; without it jobs are listed.')),
  limit: optional(whole('Of a list: 20 if absent; 100 at most.', { minimum: 1 })),
  after: optional(text('Of a list: the id that it goes on from.')),
  order: optional(oneOf(['asc', 'desc'], 'Of a list, by the time of their making: `desc` if absent.')),
})
const VideoDeleted = object({ id: text(), object: only('video.deleted'), deleted: only(true) })
const IdQuery = object({ id: text() })
const VideoContentQuery = object({
  id: text(),
  index: optional(whole('Of the file; 0 if absent.', { minimum: 0 })),
})
const IndexQuery = object({ index: optional(whole('Of the file; 0 if absent.', { minimum: 0 })) })
const HistoryQuery = object({
  limit: optional(whole('10 if absent; 300 at most.', { minimum: 1 })),
  offset: optional(whole('', { minimum: 0 })),
})

const VIDEO = { id: 'gen-Vb3kQ9xT2mLr7dWa' }
const JOB: readonly ErrorName[] = ['missing_job_id', 'job_not_found', 'invalid_input']
const FILE: readonly ErrorName[] = [...JOB, 'job_not_completed', 'file_not_found', 'invalid_range']

/** The routes of videos. */
export const VIDEO_DOCS: Readonly<Record<string, WireRoute>> = {
  'POST /v1/videos': {
    summary:
      'Makes a job for a video. Its price is held, and charged when the video is there. The body is JSON, or a form with the same fields and an image as `input_reference`.',
    body: VideoBody,
    answer: VideoRecord,
    status: 202,
    errors: [
      'missing_model',
      'missing_prompt',
      'prompt_too_long',
      'file_upload_error',
      'streaming_not_supported',
      'invalid_input',
    ],
    example: { body: { model: 'sandbox/video', prompt: 'A lake at dawn', duration: 4 } },
    records: {
      VideoBody,
      VideoRecord,
      VideoHistory,
      VideoList,
      VideoQuery,
      VideoDeleted,
      VideoContentQuery,
      IdQuery,
      IndexQuery,
      HistoryQuery,
    },
  },
  'GET /v1/videos': {
    summary: "The record of a job; without `id` the account's jobs of every status.",
    query: VideoQuery,
    answer: either(VideoRecord, VideoList),
    errors: JOB,
    example: { query: VIDEO },
  },
  'GET /v1/videos/history': {
    summary: "The account's completed jobs, newest first.",
    query: HistoryQuery,
    answer: VideoHistory,
    errors: ['invalid_input'],
    example: { query: { limit: '5' } },
  },
  'GET /v1/videos/content': {
    summary: 'The file of a job, or a range of it. Kept 72 hours.',
    query: VideoContentQuery,
    answer: { media: 'video/*' },
    errors: FILE,
    example: { query: VIDEO },
  },
  'GET /v1/videos/:id': { summary: 'The record of a job.', answer: VideoRecord, errors: JOB },
  'GET /v1/videos/:id/content': {
    summary: 'The file of a job, or a range of it. Kept 72 hours.',
    query: IndexQuery,
    answer: { media: 'video/*' },
    errors: FILE,
  },
  'DELETE /v1/videos': {
    summary: 'Cancels a pending job at no charge, or removes the files of an ended one.',
    query: IdQuery,
    answer: VideoDeleted,
    errors: JOB,
    example: { query: VIDEO },
  },
  'DELETE /v1/videos/:id': {
    summary: 'Cancels a pending job at no charge, or removes the files of an ended one.',
    answer: VideoDeleted,
    errors: JOB,
  },
}

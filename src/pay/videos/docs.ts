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
import type { ErrorName } from '../../base/errors.ts'
import type { WireRoute } from '../../base/wire-route.ts'
import { VideoBody } from '../../protocols/videos/client.ts'

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

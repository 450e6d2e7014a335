import type { AttemptFailure } from '../../protocols/ports/attempt-failure.ts'
import { withoutSecretsOf } from '../../protocols/wire/upstream-error.ts'
import type {
  VideoHandle,
  VideoSource,
  VideoState,
  VideoUpstream,
  VideoContent,
} from '../../protocols/videos/upstream.ts'
import { errorOf } from '../relay/attempt-error.ts'
import type { JobRow } from '../../ledger/job.ts'
import {
  type JobPorts,
  VIDEO_KEPT_MS,
  candidateOf,
  complete,
  endFree,
  expire,
  isOver,
  missed,
  polled,
  reasonOf,
} from './video-job.ts'
import { keyOf } from './job-submission.ts'
import { thrownMessage } from '../../base/text.ts'

/** Larger than any real video of a minute. */
const BYTES_MAX = 2 * 1_024 * 1_048_576
const DEFAULT_TYPE = 'video/mp4'
const HEAD_BYTES = 12

/** Thrown if the provider's file can never be delivered; the message is for the client. */
export class UnusableVideoError extends Error {
  override readonly name = 'UnusableVideoError'
  readonly errorType: 'empty_response' | 'provider_error'

  constructor(errorType: UnusableVideoError['errorType'], message: string) {
    super(message)
    this.errorType = errorType
  }
}

function noVideo(): UnusableVideoError {
  return new UnusableVideoError('empty_response', 'Empty response from provider')
}

/**
 * The video with the media type of its first bytes. Throws if it is no video, and during the read if it is too large.
 */
export async function videoBytes(
  content: VideoContent,
): Promise<{ readonly mediaType: string; readonly bytes: AsyncIterable<Buffer> }> {
  const source = content.bytes[Symbol.asyncIterator]()
  const head: Buffer[] = []
  let length = 0
  while (length < HEAD_BYTES) {
    const { done, value } = await source.next()
    if (done === true) break
    head.push(value)
    length += value.length
  }
  const start = Buffer.concat(head)
  if (start.length === 0) throw noVideo()
  const mediaType = typeOf(start) ?? (content.mediaType?.startsWith('video/') === true ? content.mediaType : null)
  if (
    mediaType === null &&
    content.mediaType !== null &&
    !/^(application\/octet-stream|binary\/octet-stream)$/.test(content.mediaType)
  ) {
    await source.return?.()
    throw new Error(`it is no video but ${content.mediaType}`)
  }
  return { mediaType: mediaType ?? DEFAULT_TYPE, bytes: bounded(start, { [Symbol.asyncIterator]: () => source }) }
}

function typeOf(start: Buffer): string | null {
  if (start.toString('latin1', 4, 8) === 'ftyp')
    return start.toString('latin1', 8, 12) === 'qt  ' ? 'video/quicktime' : 'video/mp4'
  return start.readUIntBE(0, Math.min(4, start.length)) === 0x1a45dfa3 ? 'video/webm' : null
}

async function* bounded(start: Buffer, rest: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  let bytes = start.length
  yield start
  for await (const chunk of rest) {
    bytes += chunk.length
    if (bytes > BYTES_MAX)
      throw new UnusableVideoError('provider_error', `The provider's video is larger than ${BYTES_MAX} bytes`)
    yield chunk
  }
}

/**
 * How many times in a row a provider may not know a job that it accepted, since some know it only a moment later, and
 * how many times it may be unreachable after the job's time is over.
 */
const MISSES_MAX = 5
const VIDEOS_MAX = 4

/**
 * Asks the provider for the job's state, and fetches its videos when they are ready. If something fails, the next poll
 * repeats it.
 */
export async function pollJob(ports: JobPorts, row: JobRow, signal: AbortSignal): Promise<void> {
  const found = upstreamOf(ports, row, signal)
  // The provider may return to the catalogue while the job is live.
  if (found === null) return moveOn(ports, row, null)
  const { videos, handle } = found
  const state = await videos.poll(handle)
  try {
    if (!signal.aborted) await goOn(ports, row, found, state)
  } finally {
    if (state.status === 'done') state.release?.()
  }
}

/** Acts on the state of the job. */
async function goOn(ports: JobPorts, row: JobRow, { videos, handle }: JobUpstream, state: VideoState): Promise<void> {
  switch (state.status) {
    case 'running':
      if (isOver(ports, row)) return expire(ports, row)
      await ports.jobs.move({
        id: row.id,
        version: row.version,
        state: polled(row, state.progress, ports.clock.now()),
        keepsLease: false,
      })
      return
    case 'failed':
      await fail(ports, row, state.failure, false)
      return
    case 'unreachable':
      if (state.gone && row.details.misses + 1 >= MISSES_MAX) await fail(ports, row, state.failure, false)
      else await moveOn(ports, row, state.failure)
      return
    case 'done':
      await bringIn(ports, row, videos, handle, state.videos)
  }
}

interface JobUpstream {
  readonly videos: VideoUpstream
  readonly handle: VideoHandle
}

function upstreamOf({ catalog, upstreams }: JobPorts, row: JobRow, signal: AbortSignal): JobUpstream | null {
  const { providerSlug, upstreamModel } = candidateOf(row)
  const provider = catalog.current().providers.get(providerSlug)
  const videos = provider === undefined ? undefined : upstreams.get(provider.adapter)
  const { reference, keyPrint } = row.details
  if (provider === undefined || videos === undefined || reference === null) return null
  return { videos, handle: { provider, upstreamModel, apiKey: keyOf(provider, keyPrint), reference, signal } }
}

/** After the deadline, a job whose provider cannot be asked, or whose file breaks off, gets a few more polls. */
async function moveOn(ports: JobPorts, row: JobRow, failure: AttemptFailure | null): Promise<void> {
  const { jobs, clock } = ports
  if (isOver(ports, row) && row.details.misses + 1 >= MISSES_MAX) return expire(ports, row)
  await jobs.move({
    id: row.id,
    version: row.version,
    state: missed(row, failure?.retryAfterSeconds ?? null, clock.now()),
    keepsLease: false,
  })
}

async function fail(ports: JobPorts, row: JobRow, found: AttemptFailure, delivered: boolean): Promise<void> {
  const provider = ports.catalog.current().providers.get(candidateOf(row).providerSlug)
  const failure = withoutSecretsOf(provider ?? { apiKeys: [], baseUrl: '' }, found)
  const { providerName } = candidateOf(row)
  const error = errorOf({ failure, providerName, modelId: row.model, contextLength: null })
  await endFree(ports, row, 'failed', reasonOf(error), delivered)
}

/** Stores every video, and only after that charges and completes the job. */
async function bringIn(
  ports: JobPorts,
  row: JobRow,
  videos: VideoUpstream,
  handle: VideoHandle,
  sources: readonly VideoSource[],
): Promise<void> {
  const taken = sources.slice(0, VIDEOS_MAX)
  try {
    for (const [index, source] of taken.entries()) await store(ports, row, index, videos, handle, source)
  } catch (thrown) {
    if (handle.signal.aborted) return
    if (thrown instanceof UnusableVideoError) return unusable(ports, row, thrown)
    ports.notice(
      `Video job ${row.id}: its video could not be fetched from '${handle.provider.slug}' and is tried again: ${thrownMessage(thrown)}`,
    )
    return moveOn(ports, row, null)
  }
  if (taken.length === 0) await unusable(ports, row, noVideo())
  else if (!(await complete(ports, row, taken.length))) await forget(ports, row, taken.length)
}

async function unusable(ports: JobPorts, row: JobRow, { message, errorType }: UnusableVideoError): Promise<void> {
  await endFree(ports, row, 'failed', { error: message, errorType }, true)
}

async function store(
  { files, clock }: JobPorts,
  row: JobRow,
  index: number,
  videos: VideoUpstream,
  handle: VideoHandle,
  source: VideoSource,
): Promise<void> {
  const content = await videoBytes(await videos.open(handle, source))
  const file = {
    id: fileIdOf(row.id, index),
    accountId: row.accountId,
    mediaType: content.mediaType,
    tokenDigest: null,
    expiresAtMs: clock.now() + VIDEO_KEPT_MS,
  }
  await files.put(file, content.bytes)
}

/** Another process ended the job meanwhile: unless that process completed it, the files belong to nobody. */
async function forget({ jobs, files }: JobPorts, row: JobRow, count: number): Promise<void> {
  const now = await jobs.find(row.id)
  if (now === null || now.status === 'completed' || now.status === 'in_progress') return
  for (let index = 0; index < count; index += 1) await files.remove(fileIdOf(row.id, index))
}

export function fileIdOf(jobId: string, index: number): string {
  return `${jobId}-${index}`
}

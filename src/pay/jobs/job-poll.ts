import type { AttemptFailure } from '../../providers/ports/attempt-failure.ts'
import { withoutSecretsOf } from '../../providers/wire/upstream-error.ts'
import type { VideoHandle, VideoSource, VideoState, VideoUpstream } from '../../providers/ports/video-upstream.ts'
import { errorOf } from '../../relay/attempt-error.ts'
import type { JobRow } from '../../ledger/job.ts'
import { complete, endFree, reasonOf } from './job-end.ts'
import type { JobPorts } from '../../videos/job-ports.ts'
import { keyOf } from './job-submission.ts'
import { candidateOf, missed, polled, VIDEO_KEPT_MS } from './video-job.ts'
import { EmptyVideoError, videoBytes } from '../../videos/video-bytes.ts'
import { thrownMessage } from '../../lib/thrown-message.ts'

/** How often in a row a provider may not know a job that it accepted: some know it only a moment later. */
const GONE_MAX = 5
const VIDEOS_MAX = 4

/**
 * Asks the provider for the job's state, and fetches its videos when they are ready. The next look repeats what breaks
 * off.
 */
export async function pollJob(ports: JobPorts, row: JobRow, signal: AbortSignal): Promise<void> {
  const found = upstreamOf(ports, row, signal)
  // The provider may return to the catalogue while the job lives.
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
      if (state.gone && row.details.misses + 1 >= GONE_MAX) await fail(ports, row, state.failure, false)
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

function upstreamOf({ catalog, adapters }: JobPorts, row: JobRow, signal: AbortSignal): JobUpstream | null {
  const { providerSlug, upstreamModel } = candidateOf(row)
  const provider = catalog.current().providers.get(providerSlug)
  const videos = provider === undefined ? undefined : adapters.get(provider.adapter)?.videos
  const { reference, keyPrint } = row.details
  if (provider === undefined || videos === undefined || reference === null) return null
  return { videos, handle: { provider, upstreamModel, apiKey: keyOf(provider, keyPrint), reference, signal } }
}

async function moveOn({ jobs, clock }: JobPorts, row: JobRow, failure: AttemptFailure | null): Promise<void> {
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
  const error = errorOf({ failure, providerName: candidateOf(row).providerName, modelId: row.model })
  await endFree(ports, row, 'failed', reasonOf(error), delivered)
}

/** Stores every video, and only then charges and completes the job. */
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
    if (thrown instanceof EmptyVideoError)
      return void (await endFree(
        ports,
        row,
        'failed',
        { error: 'Empty response from provider', errorType: 'empty_response' },
        true,
      ))
    ports.notice(
      `Video job ${row.id}: its video could not be fetched from '${handle.provider.slug}' and is tried again: ${thrownMessage(thrown)}`,
    )
    return moveOn(ports, row, null)
  }
  if (taken.length === 0)
    await endFree(ports, row, 'failed', { error: 'Empty response from provider', errorType: 'empty_response' }, true)
  else if (!(await complete(ports, row, taken.length))) await forget(ports, row, taken.length)
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

/** Another process ended the job meanwhile: unless it completed it, the files belong to nobody. */
async function forget({ jobs, files }: JobPorts, row: JobRow, count: number): Promise<void> {
  const now = await jobs.find(row.id)
  if (now === null || now.status === 'completed' || now.status === 'in_progress') return
  for (let index = 0; index < count; index += 1) await files.remove(fileIdOf(row.id, index))
}

export function fileIdOf(jobId: string, index: number): string {
  return `${jobId}-${index}`
}

import { videoUpstreams } from '../../protocols/videos/videos.ts'
import type { PaidRoomRow, OperatorHandler } from '../paid-room.ts'
import { AccountVideos } from './account-videos.ts'
import { VIDEO_DOCS, videoRoutes } from './video-routes.ts'
import { VideoRunner } from './video-runner.ts'
import { rubles } from '../../base/money.ts'
import { fieldError, reasonError } from '../../base/refusals.ts'
import { isoTime } from '../../base/time.ts'
import { readBody } from '../../kinds/fields/strict-body.ts'
import type { JobRow } from '../../ledger/job.ts'
import type { JobStore } from '../../store/jobs/job-store.ts'
import { ResolveBody, type ParkedVideo } from './operator-contract.ts'

/** Videos: jobs that outlive their request (wire.md 4). */
export const VIDEO_ROOM: PaidRoomRow = {
  open: (ports) => {
    const { store, upstream, keyWrap, node, idempotency } = ports
    const { jobs, files } = store
    const own = { ...ports, jobs, files, upstreams: videoUpstreams(upstream), cipher: keyWrap, node: node.id }
    const runner = new VideoRunner(own)
    // A new job wakes the worker.
    const videos = new AccountVideos({ ...own, created: () => runner.wake() })
    return {
      routes: (edge) => videoRoutes({ ...edge, videos, idempotency }),
      operator: parkedJobs(jobs, videos),
      start: () => runner.start(),
      stop: () => runner.stop(),
    }
  },
  docs: VIDEO_DOCS,
}

const ID_SHOWN = 200

/** Video jobs that may or may not have reached the provider, and what the operator found out at the provider. */
export function parkedJobs(
  jobs: Pick<JobStore, 'parked'>,
  videos: Pick<AccountVideos, 'resolve'>,
): Readonly<Record<string, OperatorHandler>> {
  return {
    'GET /admin/v1/videos/parked': async () => {
      const data = (await jobs.parked()).map(parkedRecord)
      return { data, total: data.length }
    },
    'POST /admin/v1/videos/:id/resolve': async ({ params, json }, record) => {
      const id = params['id'] ?? ''
      const { upstream_id: upstreamId } = readBody(ResolveBody, json, ['upstream_id'])
      if (upstreamId === undefined)
        throw fieldError(
          'upstream_id',
          'required',
          {},
          "is required: the provider's own id of the job, or null where it never arrived",
        )
      const outcome = await videos.resolve(id, upstreamId)
      const shown = id.slice(0, ID_SHOWN)
      if (outcome === 'unknown')
        throw reasonError('unknown_id', { id: shown }, { says: `Video job '${shown}' not found` })
      if (outcome === 'not_parked') throw reasonError('not_parked', { id })
      await record('video.resolve', id, null, { upstream_id: upstreamId })
      return { id, status: upstreamId === null ? 'failed' : 'in_progress' }
    },
  }
}

function parkedRecord({ id, accountId, model, holdMicro, createdAtMs, deadlineMs, details }: JobRow): ParkedVideo {
  const candidate = details.candidates[details.current]
  return {
    id,
    account: accountId,
    model,
    provider: candidate?.providerSlug ?? null,
    endpoint: candidate?.endpointId ?? null,
    held: rubles(holdMicro),
    created_at: isoTime(createdAtMs),
    expires_at: isoTime(deadlineMs),
  }
}

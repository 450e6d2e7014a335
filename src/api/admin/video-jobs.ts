import type { Principal } from '../../access/principal.ts'
import { fieldError, reasonError } from '../../base/refusals.ts'
import type { Route } from '../../http/edge.ts'
import { rubles } from '../../base/money.ts'
import type { JobRow } from '../../ledger/job.ts'
import type { ParkedVideo } from './report-contract.ts'
import {
  adminRoute,
  notFound,
  param,
  recordChange,
  type AdminBody,
  type AdminCall,
  type AdminAnswer,
  type AdminPorts,
} from './ports.ts'
import { isoTime } from '../../base/time.ts'

/** Video jobs that may or may not have reached the provider, and what the operator found out there. */
export function videoAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  return [
    adminRoute('GET /admin/v1/videos/parked', () => parked(ports)),
    adminRoute('POST /admin/v1/videos/:id/resolve', (call, read) => resolve(ports, call, read)),
  ]
}

async function parked({ store }: AdminPorts): Promise<AdminAnswer<'GET /admin/v1/videos/parked'>> {
  const data = (await store.jobs.parked()).map(parkedRecord)
  return { data, total: data.length }
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

/** `upstream_id`: the provider's id of the job; null = it never arrived, and the job fails. */
async function resolve(
  ports: AdminPorts,
  call: AdminCall,
  read: AdminBody<'POST /admin/v1/videos/:id/resolve'>,
): Promise<AdminAnswer<'POST /admin/v1/videos/:id/resolve'>> {
  const id = param(call, 'id')
  const { upstream_id: upstreamId } = read('upstream_id')
  if (upstreamId === undefined)
    throw fieldError(
      'upstream_id',
      'required',
      {},
      "is required: the provider's own id of the job, or null where it never arrived",
    )
  const outcome = await ports.videos.resolve(id, upstreamId)
  if (outcome === 'unknown') throw notFound('Video job', id)
  if (outcome === 'not_parked') throw reasonError('not_parked', { id })
  await recordChange(ports, call, 'video.resolve', id, null, { upstream_id: upstreamId })
  return { id, status: upstreamId === null ? 'failed' : 'in_progress' }
}

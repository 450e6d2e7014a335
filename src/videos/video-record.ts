import type { VideoOperation } from '../kinds/video.ts'
import { rubles } from '../base/money.ts'
import type { JobRow } from '../ledger/job.ts'

export interface VideoView {
  readonly row: JobRow
  /** null when it cannot be decrypted any more. */
  readonly operation: VideoOperation | null
  readonly nowMs: number
}

/** The record of a job (wire.md D-4.1). `error` is left out where there is none: strict clients refuse null. */
export function videoRecord({ row, operation, nowMs }: VideoView, publicUrl: string): Record<string, unknown> {
  const { id, status, details } = row
  const completed = status === 'completed'
  const hasFiles = completed && details.files > 0 && row.expiresAtMs !== null && nowMs < row.expiresAtMs
  const ended = status === 'failed' || status === 'expired' || status === 'cancelled'
  return {
    id,
    job_id: id,
    object: 'video',
    status,
    polling_url: `/v1/videos?id=${id}`,
    model: row.model,
    prompt: operation?.prompt ?? '',
    size: operation?.size ?? operation?.resolution ?? null,
    duration: operation?.duration ?? null,
    progress: row.progress,
    created_at: seconds(row.createdAtMs),
    completed_at: row.completedAtMs === null ? null : seconds(row.completedAtMs),
    expires_at:
      row.expiresAtMs === null
        ? null
        : seconds(row.completedAtMs ?? 0) + (row.expiresAtMs - (row.completedAtMs ?? 0)) / 1_000,
    ...(completed ? { generation_id: id } : {}),
    ...(hasFiles
      ? { unsigned_urls: Array.from({ length: details.files }, (_value, index) => contentUrl(publicUrl, id, index)) }
      : {}),
    ...(ended ? { error: details.error ?? 'The job ended without a video' } : {}),
    ...(ended && details.errorType !== null ? { error_type: details.errorType } : {}),
    usage:
      completed || ended
        ? { cost: rubles(BigInt(completed ? details.costMicro : '0')), currency: 'RUB', is_byok: false }
        : { estimated_cost: rubles(row.holdMicro), currency: 'RUB' },
  }
}

function contentUrl(publicUrl: string, id: string, index: number): string {
  return `${publicUrl}/v1/videos/content?id=${id}${index === 0 ? '' : `&index=${index}`}`
}

function seconds(atMs: number): number {
  return Math.floor(atMs / 1_000)
}

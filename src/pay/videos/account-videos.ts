import type { Principal } from '../../access/principal.ts'
import type { Endpoint } from '../../catalog/catalog.ts'
import { rowPrices } from '../../catalog/price-conditions.ts'
import { variantOf } from '../../catalog/picture-price.ts'
import { ApiError, overloaded } from '../../base/errors.ts'
import type { VideoCall, VideoOperation } from '../../protocols/videos/request.ts'
import { chargeMicro } from '../../tables/meters.ts'
import type { Candidate, Plan } from '../plan/plan.ts'
import { planVideo, videoUsage, type TellsField, type VideoPlan } from './video-plan.ts'
import type { Relay } from '../relay/relay.ts'
import type { Reach } from '../../store/accounts/key-lists.ts'
import type { StoredFile } from '../../store/files/file-store.ts'
import { isLive, NEW_DETAILS, type JobCandidate, type JobPage, type JobRow, type NewJob } from '../../ledger/job.ts'
import type { Page } from '../../store/page.ts'
import { JOB_TTL_MS, type JobPorts, accepted, decryptOperation, encryptOperation, endFree } from './video-job.ts'
import { fileIdOf } from './job-poll.ts'
import { isoTime } from '../../base/time.ts'
import { rubles } from '../../base/money.ts'

const REMOVE_TRIES_MAX = 5

export interface AccountVideosPorts extends Pick<
  JobPorts,
  'jobs' | 'files' | 'ledger' | 'upstreams' | 'clock' | 'cipher'
> {
  readonly relay: Pick<Relay, 'admitJob'>
  /** Called when a job was created, or may continue. */
  readonly created: () => void
}

/** The video calls of a key; a job outside its reach is not found. */
export class AccountVideos {
  readonly #ports: AccountVideosPorts

  constructor(ports: AccountVideosPorts) {
    this.#ports = ports
  }

  /** Holds the exact price and stores the job in one commit; nothing has been sent when it resolves. */
  async create(principal: Principal, call: VideoCall, publicUrl: string): Promise<Record<string, unknown>> {
    const slot: { plan: VideoPlan | null; job: NewJob | null } = { plan: null, job: null }
    const tellsOf = ({ provider }: Endpoint): TellsField | null =>
      this.#ports.upstreams.get(provider.adapter)?.tells ?? null
    await this.#ports.relay.admitJob({
      ...(call.id === undefined ? {} : { id: call.id }),
      principal,
      requestId: call.requestId,
      arrivedAtMs: call.arrivedAtMs,
      operation: {
        type: 'video',
        delivery: 'whole',
        fitsFunds: false,
        plan: (input) => (slot.plan = planVideo(call.request, input, tellsOf)),
        recounted: () => null,
      },
      job: (id, plan) => {
        if (slot.plan === null) throw new Error('A job is made from its plan.')
        return (slot.job = this.#jobOf(principal, call, id, plan, slot.plan))
      },
    })
    if (slot.job === null) throw new Error('A job that was admitted has been made.')
    this.#ports.created()
    // The record as it was created: work on the job may have begun by now.
    return videoRecord(this.#viewOf({ ...slot.job, version: 1, leaseOwner: '', leaseUntilMs: 0 }), publicUrl)
  }

  /** A job as its client sees it. */
  async show(reach: Reach, id: string, publicUrl: string): Promise<Record<string, unknown>> {
    return videoRecord(this.#viewOf(await this.#find(reach, id)), publicUrl)
  }

  /** Jobs whose stored requests still have pictures are listed without prompts. */
  async list(reach: Reach, page: JobPage, publicUrl: string): Promise<readonly Record<string, unknown>[]> {
    const rows = await this.#ports.jobs.list(reach, page)
    if (rows === null) throw new ApiError('job_not_found', `Job '${page.after?.slice(0, 128)}' not found`)
    return rows.map((row) => videoRecord(this.#viewOf(row), publicUrl))
  }

  async history(
    reach: Reach,
    limit: number,
    offset: number,
    publicUrl: string,
  ): Promise<Page<Record<string, unknown>>> {
    const { data, total } = await this.#ports.jobs.completed(reach, { limit, offset })
    return { data: data.map((row) => videoRecord(this.#viewOf(row), publicUrl)), total }
  }

  /** The stored file of a finished video. */
  async file(reach: Reach, id: string, index: number): Promise<StoredFile> {
    const row = await this.#find(reach, id)
    if (row.status !== 'completed') throw new ApiError('job_not_completed', `Job '${id}' is ${row.status}`)
    const { files } = row.details
    const gone = (why: string): ApiError => new ApiError('job_not_found', `The video file of job '${id}' ${why}`)
    if (files === 0) throw gone('was deleted')
    if (index >= files)
      throw new ApiError(
        'invalid_input',
        `index: must be ${files === 1 ? '0' : `from 0 to ${files - 1}`}, the job has ${files === 1 ? 'one video' : `${files} videos`}`,
      )
    const expiresAtMs = row.expiresAtMs ?? 0
    const file = this.#ports.clock.now() < expiresAtMs ? await this.#ports.files.find(fileIdOf(id, index)) : null
    if (file === null) throw gone(`expired at ${isoTime(expiresAtMs)}`)
    return file
  }

  read(file: StoredFile, range: { readonly start: number; readonly end: number }): AsyncIterable<Buffer> {
    return this.#ports.files.read(file.id, range)
  }

  /** Cancels a job that no provider has, or removes the files of one that has ended (wire.md D-4.7). */
  async remove(reach: Reach, id: string): Promise<void> {
    for (let tries = 0; tries < REMOVE_TRIES_MAX; tries += 1) {
      const row = await this.#find(reach, id)
      if (row.status === 'in_progress')
        throw new ApiError('invalid_input', `id: job '${id}' is already running and cannot be cancelled`)
      if (
        isLive(row)
          ? await endFree(this.#ports, row, 'cancelled', { error: 'The job was cancelled', errorType: null })
          : await this.#removeFiles(row)
      )
        return
    }
    throw overloaded(0, 'video_job')
  }

  /**
   * Applies the operator's finding about a job that may or may not have reached a provider: the provider's id, or null
   * if the job never arrived.
   */
  async resolve(id: string, upstreamId: string | null): Promise<'resolved' | 'unknown' | 'not_parked'> {
    const { jobs, clock, created } = this.#ports
    const row = await jobs.find(id)
    if (row === null) return 'unknown'
    if (row.status !== 'pending' || row.phase !== 'parked') return 'not_parked'
    if (upstreamId === null)
      return (await endFree(this.#ports, row, 'failed', {
        error: 'Provider did not answer in time',
        errorType: 'provider_timeout',
      }))
        ? 'resolved'
        : 'not_parked'
    const state = accepted(row, { reference: upstreamId, upstreamId }, clock.now())
    if ((await jobs.move({ id, version: row.version, state, keepsLease: false })) === null) return 'not_parked'
    created()
    return 'resolved'
  }

  async #removeFiles(row: JobRow): Promise<boolean> {
    const { jobs, files } = this.#ports
    if (row.details.files === 0) return true
    for (let index = 0; index < row.details.files; index += 1) await files.remove(fileIdOf(row.id, index))
    const state = { ...row, details: { ...row.details, files: 0 } }
    return (await jobs.move({ id: row.id, version: row.version, state, keepsLease: false })) !== null
  }

  async #find(reach: Reach, id: string): Promise<JobRow> {
    const row = await this.#ports.jobs.find(id, reach)
    if (row === null) throw new ApiError('job_not_found', `Job '${id.slice(0, 128)}' not found`)
    return row
  }

  #viewOf(row: JobRow): VideoView {
    return { row, operation: decryptOperation(this.#ports.cipher, row), nowMs: this.#ports.clock.now() }
  }

  #jobOf(
    { accountId, keyId }: Principal,
    { request, requestId, arrivedAtMs, appUrl, appTitle, endUser }: VideoCall,
    id: string,
    { candidates, holdMicro, snapshot }: Plan,
    { operation }: VideoPlan,
  ): NewJob {
    return {
      id,
      accountId,
      keyId,
      requestId,
      model: candidates[0]?.model.id ?? '',
      request: encryptOperation(this.#ports.cipher, { id, accountId }, operation),
      priceVersion: snapshot.priceVersion,
      holdMicro,
      createdAtMs: arrivedAtMs,
      deadlineMs: arrivedAtMs + JOB_TTL_MS,
      status: 'pending',
      phase: 'ready',
      progress: 0,
      dueAtMs: arrivedAtMs,
      completedAtMs: null,
      expiresAtMs: null,
      details: {
        ...NEW_DETAILS,
        candidates: candidates.map((candidate) => jobCandidate(candidate, operation, arrivedAtMs)),
        appUrl,
        appTitle,
        sessionId: request.sessionId,
        ...(endUser === null ? {} : { endUser }),
        ...(snapshot.markup === undefined ? {} : { markup: snapshot.markup }),
      },
    }
  }
}

function jobCandidate({ endpoint }: Candidate, operation: VideoPlan['operation'], atMs: number): JobCandidate {
  const usage = videoUsage(operation)
  const { charged, billed } = rowPrices(endpoint, { usage, createdAtMs: atMs, billingBasis: 'provider_usage' })
  return {
    endpointId: endpoint.id,
    providerSlug: endpoint.provider.slug,
    providerName: endpoint.provider.name,
    upstreamModel: endpoint.upstreamModel,
    variant: variantOf(endpoint, operation),
    costMicro: String(chargeMicro(usage, charged.sheet)),
    buyMicro: String(chargeMicro(usage, billed.sheet)),
    condition: charged.name,
    billedCondition: billed.name === charged.name ? null : billed.name,
  }
}

interface VideoView {
  readonly row: JobRow
  /** null = it can no longer be decrypted. */
  readonly operation: VideoOperation | null
  readonly nowMs: number
}

/** The record of a job (wire.md D-4.1). If there is no error, `error` is left out: strict clients refuse null. */
function videoRecord({ row, operation, nowMs }: VideoView, publicUrl: string): Record<string, unknown> {
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

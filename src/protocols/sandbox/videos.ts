import { createHash } from 'node:crypto'
import type { VideoOperation } from '../../kinds/video.ts'
import type { Clock } from '../../lib/clock.ts'
import { objectOf, textOf } from '../wire/raw-json.ts'
import { isMp4Size, sandboxMp4, type Mp4Size } from '../../providers/sandbox/mp4.ts'
import { readScript, type SandboxScript } from './script.ts'
import { failure } from '../../providers/ports/attempt-failure.ts'
import type { SubmissionOutcome, VideoState, VideoUpstream } from '../../providers/ports/video-upstream.ts'

const USUAL_SIZE: Mp4Size = '1280x720'
const CHUNK_BYTES = 65_536

/** All that the sandbox knows of a job: it stores none, so it finds each again after any restart. */
interface Ticket {
  readonly startedAtMs: number
  readonly readyAtMs: number
  readonly size: Mp4Size
  /** Hexadecimal hash of prompt and seed. */
  readonly mark: string
  readonly seconds: number
  readonly end: 'video' | 'empty' | 'error' | 'never'
}

/**
 * Videos of one picture from a file of the server. A `sandbox:` line of the prompt asks for faults: `status` refuses
 * the job, `error` fails it, `stall` never ends it, `cut` loses the answer to the submission.
 */
export function sandboxVideos(clock: Clock): VideoUpstream {
  return {
    submit: async ({ operation }) => submitted(operation, readScript(operation.prompt), clock.now()),
    poll: async ({ reference }) => stateOf(ticketOf(reference), clock.now()),
    open: async (_handle, source) => {
      if (!('bytes' in source)) throw new Error('The sandbox gives its videos itself.')
      return { mediaType: 'video/mp4', bytes: pieces(Buffer.concat(source.bytes)) }
    },
  }
}

function submitted(operation: VideoOperation, script: SandboxScript, nowMs: number): SubmissionOutcome {
  if (script.status !== null) {
    const refused = script.status < 500 && script.status !== 429
    return {
      status: 'refused',
      failure: {
        ...failure('status', script.status, 'status by script'),
        publicMessage: refused ? `The sandbox was asked to fail with ${script.status}` : null,
      },
    }
  }
  if (script.cut !== null) return { status: 'unknown', failure: failure('cut', null, 'cut by script') }
  const ticket: Ticket = {
    startedAtMs: nowMs,
    readyAtMs: nowMs + script.delayMs,
    size: operation.size !== null && isMp4Size(operation.size) ? operation.size : USUAL_SIZE,
    mark: createHash('sha256')
      .update(`${operation.seed ?? ''}\n${operation.prompt}`)
      .digest('hex')
      .slice(0, 16),
    seconds: operation.duration,
    end: script.empty ? 'empty' : script.error !== null ? 'error' : script.stall !== null ? 'never' : 'video',
  }
  const reference = Buffer.from(JSON.stringify(ticket)).toString('base64url')
  return {
    status: 'accepted',
    reference,
    upstreamId: `sandbox-${createHash('sha256').update(reference).digest('hex').slice(0, 16)}`,
  }
}

function ticketOf(reference: string): Ticket | null {
  try {
    const ticket = objectOf(JSON.parse(Buffer.from(reference, 'base64url').toString('utf8')))
    // Written by `submitted`; other texts have no `end`, and references of older versions have no size.
    return textOf(ticket?.['end']) === null ? null : ({ size: USUAL_SIZE, mark: '', ...ticket } as unknown as Ticket)
  } catch {
    return null
  }
}

function videoOf({ size, seconds, mark }: Ticket): Buffer {
  return sandboxMp4(size, seconds, Buffer.from(mark, 'hex'))
}

function stateOf(ticket: Ticket | null, nowMs: number): VideoState {
  if (ticket === null) return { status: 'unreachable', failure: failure('status', 404, 'no such job'), gone: true }
  const { startedAtMs, readyAtMs } = ticket
  if (ticket.end === 'never' || nowMs < readyAtMs) {
    const share = readyAtMs > startedAtMs ? (nowMs - startedAtMs) / (readyAtMs - startedAtMs) : 0
    return {
      status: 'running',
      progress: ticket.end === 'never' ? 0 : Math.max(0, Math.min(99, Math.floor(share * 100))),
    }
  }
  if (ticket.end === 'error') return { status: 'failed', failure: failure('error_event', 502, 'error by script') }
  return {
    status: 'done',
    videos: [{ bytes: ticket.end === 'empty' ? [] : [videoOf(ticket)], mediaType: 'video/mp4' }],
  }
}

async function* pieces(bytes: Buffer): AsyncIterable<Buffer> {
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES) yield bytes.subarray(start, start + CHUNK_BYTES)
}

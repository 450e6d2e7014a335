import { createHash } from 'node:crypto'
import type { VideoOrder } from '../kinds/video-request.ts'
import type { Clock } from '../lib/clock.ts'
import { objectOf, textOf } from './raw-json.ts'
import { plainMp4 } from './sandbox-mp4.ts'
import { readScript, type SandboxScript } from './sandbox-script.ts'
import { failure } from './transport.ts'
import type { SubmissionOutcome, VideoState, VideoUpstream } from './videos.ts'

const PARAMETERS = [
  'size',
  'duration',
  'resolution',
  'aspect_ratio',
  'frame_images',
  'input_references',
  'generate_audio',
  'seed',
]
const WIDTH = 1_280
const HEIGHT = 720
const CHUNK_BYTES = 65_536

/** All that the sandbox knows of a job: it keeps none of them, and so finds each again after any restart. */
interface Ticket {
  readonly startedAtMs: number
  readonly readyAtMs: number
  readonly width: number
  readonly height: number
  readonly seconds: number
  readonly colour: readonly [number, number, number]
  readonly end: 'video' | 'empty' | 'error' | 'never'
}

/**
 * Videos of one colour, made by the server itself. A `sandbox:` line of the prompt asks for faults: `status` refuses,
 * `error` fails it, `stall` never ends it, `cut` loses the answer to the submission.
 */
export function sandboxVideos(clock: Clock): VideoUpstream {
  return {
    supportedParameters: PARAMETERS,
    submit: async ({ order }) => submitted(order, readScript(order.prompt), clock.now()),
    poll: async ({ reference }) => stateOf(ticketOf(reference), clock.now()),
    open: async (_handle, source) => {
      if (!('bytes' in source)) throw new Error('The sandbox gives its videos itself.')
      return { mediaType: 'video/mp4', bytes: pieces(source.bytes) }
    },
  }
}

function submitted(order: VideoOrder, script: SandboxScript, nowMs: number): SubmissionOutcome {
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
  const [width, height] = dimensionsOf(order)
  const ticket: Ticket = {
    startedAtMs: nowMs,
    readyAtMs: nowMs + script.delayMs,
    width,
    height,
    seconds: order.duration,
    colour: colourOf(order),
    end: script.empty ? 'empty' : script.error !== null ? 'error' : script.stall !== null ? 'never' : 'video',
  }
  const reference = Buffer.from(JSON.stringify(ticket)).toString('base64url')
  return {
    status: 'accepted',
    reference,
    upstreamId: `sandbox-${createHash('sha256').update(reference).digest('hex').slice(0, 16)}`,
  }
}

function dimensionsOf({ size }: VideoOrder): readonly [number, number] {
  const [width, height] = (size ?? '').split('x').map(Number)
  return [width ?? 0, height ?? 0].every((side) => Number.isInteger(side) && side >= 16 && side <= 4_096)
    ? [width ?? WIDTH, height ?? HEIGHT]
    : [WIDTH, HEIGHT]
}

/** Of the prompt and the seed, within the range of video levels. */
function colourOf({ prompt, seed }: VideoOrder): readonly [number, number, number] {
  const [luma = 0, blue = 0, red = 0] = createHash('sha256')
    .update(`${seed ?? ''}\n${prompt}`)
    .digest()
  return [48 + (luma % 160), 32 + (blue % 192), 32 + (red % 192)]
}

function ticketOf(reference: string): Ticket | null {
  try {
    const ticket = objectOf(JSON.parse(Buffer.from(reference, 'base64url').toString('utf8')))
    // Written by `submitted`; a reference from elsewhere has no such end.
    return textOf(ticket?.['end']) === null ? null : (ticket as unknown as Ticket)
  } catch {
    return null
  }
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
    videos: [{ bytes: ticket.end === 'empty' ? Buffer.alloc(0) : plainMp4(ticket), mediaType: 'video/mp4' }],
  }
}

async function* pieces(bytes: Buffer): AsyncIterable<Buffer> {
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES) yield bytes.subarray(start, start + CHUNK_BYTES)
}

import { createHash } from 'node:crypto'
import type { VideoOperation } from './request.ts'
import type { Clock } from '../../base/clock.ts'
import { objectOf, textOf } from '../wire/raw-json.ts'
import { failureOf, readScript, type SandboxScript } from '../sandbox/script.ts'
import { failure } from '../ports/attempt-failure.ts'
import type { SubmissionOutcome, VideoState, VideoUpstream } from './upstream.ts'
import { inflateRawSync } from 'node:zlib'

/**
 * MP4s (H.264, constrained baseline) with one picture of one colour, deflated, by size; the sizes are `supported_sizes`
 * of the catalogue's `sandbox/video`.
 */
const FILES = {
  '1280x720':
    '7ZE9SwNBEIbfvZBCkFRBrggkop1YJFhYhqTJH9DK5ry9mCO3uXCzrh+VhaCVdQoL/ScprMXaTrDwNwQhshdDLh+KvfOwy+7OvDuzswOg0tYX/ZBiBTiwa0hxzTN+VfX3qoDTV3FsAETKdCTmyH0AGEHAjhliXrV4ruNXHEB86sTrAjjS3TRnbkW00dLNP+TN2wQvqXOgZOgBqCi5uq6Dp/Sw25FRMvWYUAZZ5WEog7jl9WQUWI1oqrDXBlA0Kg2afcK2nPhKMgnamSeunyZRZbIXOdLHEYAb0iQzmjPbkB/KRN6W1ALSuVKxhDseA9j0jN8UjWF5/Ia1k8aw/CrqG+8C+c6zc39lZaQ1ZYKK738vkqZFe4k0+Qu26XRJ0+V8Zwpbkzh+PLM5A6Cwo6SngUI5uL1+dB9g9uHewUEtYRiGYRiGYRiGYf4h518=',
  '720x1280':
    '7ZE9TwJBEIbfXUJhYqgoriABo4WJsYBYWBpo+ANa2Zy3h1y45cjNun5UFiZaWVNY6D+hoDbUdnb+BmKCOU7C8aGxd57sZndn3p2Z3QFQaZnrXkCRBiSSNaCo5lqvqnsHVUD2dBRZAKG2bYUFch8AxhBIxhyxqFo+H+FXJCA+Tex2AJyazjRnbk208crNP+SVIyCfOvtaBS6Ailbr33U8nB722yqMZx4bKD+rPAmUHzXdrgr9RCMaOui2ABStngbNlrCjUl9JxX4rU+LmRRxW0r3IkTkLAdyTIZXRXCYN+eGZkKM80EQ61ypWcCYTAFuu9RqiPihP3rFxXh+U3+RoVwnk26/y6TaRkTGUCSq+/71IhpbtJTLkLdlm0yFDN4udKWyncbxobpN9oLCnlWuAQtl/uHtxnmEP4TxCohYzDMMwDMMwDMMw/5CrLw==',
  '1920x1080':
    '7dEvT8NAGAbw58oIhCAnJpZsIYgZBAtikgzEvgAoTOl1rKG3jt7RDNQEYgqHWEICfJMJNB8ABQ6HwI2QkXaQdX8gSMTzSy/Xe+/te3c9AMW6OWt5OlCAhbj3dFC2I2dTtbY2AetEBUEEwFdRQ2LCwguAAQTiZ0xMZk2Pt/ErCxAfJrSPARyY42TNhTnVBjNf/mHdpQ6QqSSTPSU9G0BRyfnn2rtPBhsN6YffM5En3XTmvifdoGY3pe/GOWJXec06gGykkqLpLazL0Vxehm49tcXV09Avjt5FRptDH0BXGy1TOe34Qn44JpY6mQpqQNLmZszIDYcA1uzI2RHVfmn4jJWjar/0KJ6Wb64EFhsP1nUnztPG6FRV8fXjs9ro6XheG+1Mxb5bTht9Pnk1hbdRHScYx6weUHhX0jZA4dXtXtzlbhFVkLuEhXJIRERERERERERERERERERE/1z7Ew==',
  '1080x1920':
    '7dEtT8NAGAfw/3UjSwgJiImKhS0EMYPYgpgkA8EXAAWi7DrWrLeO3tEMFAIxhSdBwDdBoPkAOBwOgYOQkXYs614gSMT/l17ae+7pc28ASk1z1vV0oAAL8dvTQdWJGhXV3awA1okKggiAr6KWxITMC4B3CMTPmJjMmu5v4VcWID5N6LQBHJh2MmdmTrX3mT//MG+2BuQuksFrJT0HQEnJ+fvae0g6Gy3ph6ORyJNuOnPfk26w63Sk78Y5Ykd5nSaAfKSSouklrMvhWEGGbjO1xKXT0C8Nv0VWmyMfQF8bLVM5vfhCftgmsrXcBXaBpM3NmGEPBgDWnKixLer35cEzFo/r9+UnsbK8eiiw0Hq0buJjsrUxOlVVfB98Xhs9HS9ooxtTsVGztdHnk1dTfBvWaQTjmHUNFD+UdAxQfHX7l3f2LaIa7CtYqIZERERERERERERERERERET0z/W+AA==',
}
/** Offset of the duration in ms from the start of each box's body. */
const DURATION_AT = { mvhd: 16, tkhd: 20, mdhd: 16, stts: 12 }
const NAME_BYTES = 4

type Mp4Size = keyof typeof FILES

export function isMp4Size(size: string): size is Mp4Size {
  return Object.hasOwn(FILES, size)
}

/** A playable MP4 of the given size and length with one picture. `mark`: bytes by which two videos differ. */
export function sandboxMp4(size: Mp4Size, seconds: number, mark = Buffer.alloc(0)): Buffer {
  const file = inflateRawSync(Buffer.from(FILES[size], 'base64'))
  for (const [box, at] of Object.entries(DURATION_AT))
    file.writeUInt32BE(Math.round(seconds * 1_000), file.indexOf(box) + NAME_BYTES + at)
  const free = Buffer.from('\0\0\0\0free', 'latin1')
  free.writeUInt32BE(free.length + mark.length)
  return Buffer.concat([file, free, mark])
}

const USUAL_SIZE: Mp4Size = '1280x720'
const CHUNK_BYTES = 65_536

/**
 * Everything that the sandbox knows about a job. Its id contains all of this, so that the sandbox stores nothing and
 * finds each job after a restart.
 */
interface Ticket {
  readonly startedAtMs: number
  readonly readyAtMs: number
  readonly size: Mp4Size
  /** Hexadecimal hash of prompt and seed. */
  readonly mark: string
  readonly seconds: number
  readonly end: 'video' | 'empty' | 'error'
}

/**
 * Videos of one picture from a file of the server. A `sandbox:` line in the prompt asks for faults: `status` refuses
 * the job, `error` fails it, `words=0` ends it without a video.
 */
export function sandboxVideos(clock: Clock): VideoUpstream {
  return {
    tells: () => true,
    submit: async ({ operation }) => submitted(operation, readScript(operation.prompt), clock.now()),
    poll: async ({ reference }) => stateOf(ticketOf(reference), clock.now()),
    open: async (_handle, source) => {
      if (!('bytes' in source)) throw new Error('The sandbox gives its videos itself.')
      return { mediaType: 'video/mp4', bytes: pieces(Buffer.concat(source.bytes)) }
    },
  }
}

function submitted(operation: VideoOperation, script: SandboxScript, nowMs: number): SubmissionOutcome {
  if (script.status !== null)
    return { status: 'refused', failure: failureOf('status', script.status, 'status by script') }
  const ticket: Ticket = {
    startedAtMs: nowMs,
    readyAtMs: nowMs + script.delayMs,
    size: operation.size !== null && isMp4Size(operation.size) ? operation.size : USUAL_SIZE,
    mark: createHash('sha256')
      .update(`${operation.seed ?? ''}\n${operation.prompt}`)
      .digest('hex')
      .slice(0, 16),
    seconds: operation.duration,
    end: script.words === 0 ? 'empty' : script.error === null ? 'video' : 'error',
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
  if (nowMs < readyAtMs) {
    const share = (nowMs - startedAtMs) / (readyAtMs - startedAtMs)
    return { status: 'running', progress: Math.max(0, Math.min(99, Math.floor(share * 100))) }
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

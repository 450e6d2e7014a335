import { AAC_BYTES_PER_SECOND, CAUTIOUS_BYTES_PER_SECOND } from './aac-config.ts'
import { longestForm, pcmWidth } from './mp4-codec.ts'
import { mp3Sound } from './mp3.ts'

const CONTAINERS: ReadonlySet<string> = new Set([
  'moov',
  'trak',
  'edts',
  'mdia',
  'minf',
  'stbl',
  'mvex',
  'moof',
  'traf',
])
const DEPTH_MAX = 6
const BOXES_MAX = 200_000
/** More than any honest file has. */
const TRACKS_MAX = 100
const TRUN_SAMPLE_FIELDS = [0x100, 0x200, 0x400, 0x800] as const
/** No honest track is cut more often. */
const EDITS_MAX = 10_000
/** A month: no provider hears more at once, whatever a table counts. */
const SECONDS_MAX = 2_678_400

interface Samples {
  count: number
  bytes: number
  /** The largest one. */
  most: number
}

interface Track extends Samples {
  id: number
  readonly handlers: string[]
  /** Of `stsd`. */
  entries: Buffer
  timescale: number
  edits: Buffer
}

interface Movie {
  boxes: number
  timescale: number
  readonly tracks: Track[]
  /** Bytes of a sample of a fragment that does not say its own, by track. */
  readonly defaults: Map<number, number>
  readonly fragments: Map<number, Samples>
  fragment: { track: number; sampleBytes: number }
  /** Bytes that may be sound: of `mdat`, and of what could not be walked. */
  data: number
}

/**
 * The most seconds that the sound tracks of an MP4, M4A or QuickTime file decode to: by how many samples their tables
 * count, whatever they say of times.
 */
export function mp4SecondsMax(bytes: Buffer): number {
  const movie: Movie = {
    boxes: 0,
    timescale: 0,
    tracks: [],
    defaults: new Map(),
    fragments: new Map(),
    fragment: { track: 0, sampleBytes: 0 },
    data: 0,
  }
  readBoxes(bytes, movie, { depth: 0, fileBytes: bytes.length })
  let mpeg: number | null = null
  const mpegSeconds = (): number => (mpeg ??= mp3Sound(bytes, 0).seconds)
  let longest = 0
  let explained = 0
  for (const track of movie.tracks) {
    const run = movie.fragments.get(track.id) ?? { count: 0, bytes: 0, most: 0 }
    const samples = {
      count: track.count + run.count,
      bytes: track.bytes + run.bytes,
      most: Math.max(track.most, run.most),
    }
    explained += Math.max(samples.bytes, samples.count * pcmWidth(track.entries))
    if (isSound(track))
      longest = Math.max(longest, trackSeconds(track, samples, mpegSeconds) * plays(track, movie.timescale))
  }
  return Math.min(SECONDS_MAX, longest + Math.max(0, movie.data - explained) / CAUTIOUS_BYTES_PER_SECOND)
}

function isSound({ handlers, entries }: Track): boolean {
  return (
    handlers.includes('soun') || (!handlers.includes('vide') && (entries.length === 0 || longestForm(entries) !== null))
  )
}

function trackSeconds({ entries }: Track, { count, bytes: size, most }: Samples, mpegSeconds: () => number): number {
  const form = longestForm(entries)
  if (form === null) return Math.max(size, count) / CAUTIOUS_BYTES_PER_SECOND
  const seconds = count * form.seconds
  if (form.isMpeg) return Math.max(seconds, mpegSeconds())
  // More bytes than a frame can have are several frames, which decoders take one after the other.
  const atLeast = form.bytesMax === Infinity ? 0 : size / AAC_BYTES_PER_SECOND
  return (
    Math.max(seconds, atLeast) +
    (most > form.bytesMax ? Math.max(0, size - form.bytesMax) / CAUTIOUS_BYTES_PER_SECOND : 0)
  )
}

/** How often an edit list may play the same sample: as often as its parts lie over each other. */
function plays({ edits, timescale }: Track, movieTimescale: number): number {
  const isLong = edits[0] === 1
  const stride = isLong ? 20 : 12
  const count = Math.min(wordAt(edits, 4), Math.floor(Math.max(0, edits.length - 8) / stride))
  if (count <= 1) return 1
  if (count > EDITS_MAX || movieTimescale === 0) return count
  const turns: (readonly [time: number, change: number])[] = []
  for (let at = 8; turns.length < count * 2; at += stride) {
    const duration = isLong ? Number(edits.readBigUInt64BE(at)) : edits.readUInt32BE(at)
    const start = isLong ? Number(edits.readBigInt64BE(at + 8)) : edits.readInt32BE(at + 4)
    // −1 is a silence; a duration of 0 goes to the end.
    const end = start === -1 ? start : duration === 0 ? Infinity : start + (duration * timescale) / movieTimescale
    turns.push([start, start === -1 ? 0 : 1], [end, start === -1 ? 0 : -1])
  }
  turns.sort(([a, up], [b, down]) => (a === b ? up - down : a - b))
  let open = 0
  return turns.reduce((most, [, change]) => Math.max(most, (open += change)), 1)
}

function readBoxes(bytes: Buffer, movie: Movie, { depth, fileBytes }: { depth: number; fileBytes: number }): void {
  let at = 0
  for (; at + 8 <= bytes.length && movie.boxes < BOXES_MAX && movie.tracks.length <= TRACKS_MAX; movie.boxes += 1) {
    const short = bytes.readUInt32BE(at)
    const head = short === 1 && at + 16 <= bytes.length ? 16 : 8
    const declared = head === 16 ? Number(bytes.readBigUInt64BE(at + 8)) : short
    const size = declared === 0 ? bytes.length - at : declared
    if (size < head) break
    const name = bytes.toString('latin1', at + 4, at + 8)
    const content = bytes.subarray(at + head, at + size)
    if (name === 'trak')
      movie.tracks.push({
        id: 0,
        handlers: [],
        entries: Buffer.alloc(0),
        timescale: 0,
        edits: Buffer.alloc(0),
        count: 0,
        bytes: 0,
        most: 0,
      })
    if (CONTAINERS.has(name) && depth < DEPTH_MAX) readBoxes(content, movie, { depth: depth + 1, fileBytes })
    // What says that it goes on past the end may hide others.
    else if (name === 'mdat' || at + size > bytes.length) movie.data += content.length
    else readBox(name, content, movie, fileBytes)
    at += size
  }
  movie.data += Math.max(0, bytes.length - at)
}

function readBox(name: string, content: Buffer, movie: Movie, fileBytes: number): void {
  const track = movie.tracks.at(-1)
  if (name === 'mvhd') movie.timescale = wordAt(content, content[0] === 1 ? 20 : 12)
  else if (name === 'trex') movie.defaults.set(wordAt(content, 4), wordAt(content, 16))
  else if (name === 'tfhd') movie.fragment = fragmentOf(content, movie)
  else if (name === 'trun') addRun(content, movie, fileBytes)
  else if (track === undefined) return
  else if (name === 'tkhd') track.id = wordAt(content, content[0] === 1 ? 20 : 12)
  else if (name === 'hdlr') track.handlers.push(content.toString('latin1', 8, 12))
  else if (name === 'mdhd') track.timescale = wordAt(content, content[0] === 1 ? 20 : 12)
  else if (name === 'elst') track.edits = content.length > track.edits.length ? content : track.edits
  else if (name === 'stsd') track.entries = track.entries.length === 0 ? content : Buffer.alloc(0)
  else if (name === 'stsz' || name === 'stz2') addSizes(content, track, name)
}

function addSizes(content: Buffer, track: Track, name: 'stsz' | 'stz2'): void {
  const told = wordAt(content, 8)
  const same = name === 'stsz' ? wordAt(content, 4) : 0
  if (same > 0) return add(track, told, same)
  const bits = name === 'stsz' ? 32 : (content[7] ?? 0)
  if (bits !== 4 && bits !== 8 && bits !== 16 && bits !== 32) return
  const count = Math.min(told, Math.floor((Math.max(0, content.length - 12) * 8) / bits))
  track.count += count
  for (let index = 0; index < count; index += 1) {
    const at = 12 + ((index * bits) >> 3)
    const size = bits === 4 ? ((content[at] ?? 0) >> (index % 2 === 0 ? 4 : 0)) & 15 : content.readUIntBE(at, bits / 8)
    track.bytes += size
    if (size > track.most) track.most = size
  }
}

function add(samples: Samples, count: number, size: number): void {
  samples.count += count
  samples.bytes += count * size
  samples.most = Math.max(samples.most, size)
}

function fragmentOf(content: Buffer, movie: Movie): Movie['fragment'] {
  const flags = wordAt(content, 0)
  const track = wordAt(content, 4)
  const at = 8 + ((flags & 1) === 0 ? 0 : 8) + ((flags & 2) === 0 ? 0 : 4) + ((flags & 8) === 0 ? 0 : 4)
  return { track, sampleBytes: (flags & 0x10) === 0 ? (movie.defaults.get(track) ?? 0) : wordAt(content, at) }
}

function addRun(content: Buffer, movie: Movie, fileBytes: number): void {
  const flags = wordAt(content, 0)
  const { track, sampleBytes } = movie.fragment
  const start = 8 + ((flags & 1) === 0 ? 0 : 4) + ((flags & 4) === 0 ? 0 : 4)
  const stride = TRUN_SAMPLE_FIELDS.filter((field) => (flags & field) !== 0).length * 4
  // Samples of a run stand one after another: the file has no room for more.
  const room = stride === 0 ? fileBytes / Math.max(1, sampleBytes) : Math.max(0, content.length - start) / stride
  const count = Math.min(wordAt(content, 4), Math.floor(room))
  const samples = movie.fragments.get(track) ?? { count: 0, bytes: 0, most: 0 }
  movie.fragments.set(track, samples)
  if ((flags & 0x200) === 0) return add(samples, count, sampleBytes)
  const first = start + ((flags & 0x100) === 0 ? 0 : 4)
  for (let index = 0; index < count; index += 1) add(samples, 1, content.readUInt32BE(first + index * stride))
}

function wordAt(content: Buffer, at: number): number {
  return at + 4 <= content.length ? content.readUInt32BE(at) : 0
}

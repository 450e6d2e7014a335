import { entryForm, pcmBytes } from './mp4-codec.ts'
import {
  addRun,
  addUnplaced,
  chunkSamples,
  foundSamples,
  placeSamples,
  sampleSizes,
  wordAt,
  type FoundSamples,
  type SampleTables,
} from './mp4-samples.ts'
import { CAUTIOUS_BYTES_PER_SECOND, packetsSeconds, unreadSeconds } from './packet-form.ts'

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
const BASE_IS_FRAGMENT = 0x2_0000
/** No honest track has more cuts. */
const EDITS_MAX = 10_000
/** A month: no provider accepts more at once, whatever a table says. */
const SECONDS_MAX = 2_678_400

interface TrackTables extends SampleTables {
  id: number
  readonly handlers: string[]
  /** Of `stsd`. */
  entries: Buffer
  timescale: number
  edits: Buffer
  /** A table that occurs twice: decoders differ in which one they take. */
  isTwofold: boolean
}

interface Fragment {
  track: number
  sampleBytes: number
  /** The start of its data; null where decoders do not agree. */
  base: number | null
}

interface Movie {
  boxes: number
  timescale: number
  readonly tracks: TrackTables[]
  /** The bytes of a fragment's sample without its own size, by track. */
  readonly defaults: Map<number, number>
  readonly fragments: Map<number, FoundSamples>
  fragment: Fragment
  /** The start of the current movie fragment; null once one of its tracks has been read. */
  fragmentStart: number | null
  /** Bytes that may be sound: those of `mdat`, and those that could not be walked. */
  data: number
}

/**
 * The most seconds that the sound tracks of an MP4, M4A or QuickTime file decode to: by the samples in its tables,
 * whatever times it gives.
 */
export function mp4SecondsMax(bytes: Buffer): number {
  const movie: Movie = {
    boxes: 0,
    timescale: 0,
    tracks: [],
    defaults: new Map(),
    fragments: new Map(),
    fragment: { track: 0, sampleBytes: 0, base: null },
    fragmentStart: null,
    data: 0,
  }
  readBoxes(bytes, bytes, movie, 0)
  let longest = 0
  let explained = 0
  for (const track of movie.tracks) {
    const run = movie.fragments.get(track.id) ?? foundSamples()
    const { seconds, size } = trackSeconds(bytes, track, run)
    explained += size
    if (isSound(track)) longest = Math.max(longest, seconds * plays(track, movie.timescale))
  }
  return Math.min(SECONDS_MAX, longest + Math.max(0, movie.data - explained) / CAUTIOUS_BYTES_PER_SECOND)
}

function isSound({ handlers, entries }: TrackTables): boolean {
  return (
    handlers.includes('soun') ||
    (!handlers.includes('vide') && (entries.length === 0 || entryForm(entries).codec !== 'unknown'))
  )
}

function trackSeconds(
  bytes: Buffer,
  track: TrackTables,
  run: FoundSamples,
): { readonly seconds: number; readonly size: number } {
  const form = entryForm(track.entries)
  if (form.codec === 'pcm') {
    // Its samples are single ones or whole runs, which depends on the decoder.
    const { count, at } = sampleSizes(track)
    const width = pcmBytes(track.entries)
    const size = Math.max(count * Math.max(width, count === 0 ? 0 : at(0)), chunkSamples(track) * width) + sizeOf(run)
    return { seconds: Math.max(size, bytes.length) / form.bytesPerSecond, size }
  }
  const placed = track.isTwofold ? null : placeSamples(track, bytes.length)
  if (placed === null) return { seconds: SECONDS_MAX, size: 0 }
  const seconds = [placed, run].reduce(
    (sum, found) => sum + packetsSeconds(bytes, found, form) + unreadSeconds(found.unplacedBytes, found.unplaced, form),
    0,
  )
  return { seconds, size: sizeOf(placed) + sizeOf(run) }
}

function sizeOf({ starts, ends, unplacedBytes }: FoundSamples): number {
  return starts.reduce((sum, start, index) => sum + (ends[index] ?? 0) - start, unplacedBytes)
}

/** How often an edit list may play the same sample: the largest number of its parts that overlap. */
function plays({ edits, timescale }: TrackTables, movieTimescale: number): number {
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

function readBoxes(file: Buffer, bytes: Buffer, movie: Movie, depth: number): void {
  let at = 0
  for (; at + 8 <= bytes.length && movie.boxes < BOXES_MAX && movie.tracks.length <= TRACKS_MAX; movie.boxes += 1) {
    const short = bytes.readUInt32BE(at)
    const head = short === 1 && at + 16 <= bytes.length ? 16 : 8
    const declared = head === 16 ? Number(bytes.readBigUInt64BE(at + 8)) : short
    const size = declared === 0 ? bytes.length - at : declared
    if (size < head) break
    const name = bytes.toString('latin1', at + 4, at + 8)
    const content = bytes.subarray(at + head, at + size)
    if (name === 'trak') movie.tracks.push(newTrack())
    if (name === 'moof') movie.fragmentStart = bytes.byteOffset - file.byteOffset + at
    if (CONTAINERS.has(name) && depth < DEPTH_MAX) readBoxes(file, content, movie, depth + 1)
    // A box whose size goes past the end may hide others.
    else if (name === 'mdat' || at + size > bytes.length) movie.data += content.length
    else readBox(name, content, movie, file.length)
    at += size
  }
  movie.data += Math.max(0, bytes.length - at)
}

function newTrack(): TrackTables {
  const none = Buffer.alloc(0)
  return {
    id: 0,
    handlers: [],
    entries: none,
    timescale: 0,
    edits: none,
    isTwofold: false,
    sizes: none,
    isCompact: false,
    chunks: none,
    isLong: false,
    runs: none,
  }
}

function readBox(name: string, content: Buffer, movie: Movie, fileBytes: number): void {
  const track = movie.tracks.at(-1)
  if (name === 'mvhd') movie.timescale = wordAt(content, content[0] === 1 ? 20 : 12)
  else if (name === 'trex') movie.defaults.set(wordAt(content, 4), wordAt(content, 16))
  else if (name === 'tfhd') movie.fragment = fragmentOf(content, movie)
  else if (name === 'trun') addFragment(content, movie, fileBytes)
  else if (track === undefined) return
  else if (name === 'tkhd') track.id = wordAt(content, content[0] === 1 ? 20 : 12)
  else if (name === 'hdlr') track.handlers.push(content.toString('latin1', 8, 12))
  else if (name === 'mdhd') track.timescale = wordAt(content, content[0] === 1 ? 20 : 12)
  else if (name === 'elst') track.edits = content.length > track.edits.length ? content : track.edits
  else readTable(name, content, track)
}

function readTable(name: string, content: Buffer, track: TrackTables): void {
  const set = (table: 'entries' | 'sizes' | 'chunks' | 'runs'): void => {
    track.isTwofold ||= track[table].length > 0
    track[table] = content
  }
  if (name === 'stsd') set('entries')
  else if (name === 'stsc') set('runs')
  else if (name === 'stsz' || name === 'stz2') {
    set('sizes')
    track.isCompact = name === 'stz2'
  } else if (name === 'stco' || name === 'co64') {
    set('chunks')
    track.isLong = name === 'co64'
  }
}

function fragmentOf(content: Buffer, movie: Movie): Fragment {
  const flags = wordAt(content, 0)
  const track = wordAt(content, 4)
  const at = 8 + ((flags & 1) === 0 ? 0 : 8) + ((flags & 2) === 0 ? 0 : 4) + ((flags & 8) === 0 ? 0 : 4)
  const told = (flags & 1) !== 0 && content.length >= 16 ? Number(content.readBigUInt64BE(8)) : null
  const base = told ?? movie.fragmentStart
  // The data of the second track of a fragment follows the data of the first, unless it gives another place.
  if ((flags & BASE_IS_FRAGMENT) === 0) movie.fragmentStart = null
  return { track, sampleBytes: (flags & 0x10) === 0 ? (movie.defaults.get(track) ?? 0) : wordAt(content, at), base }
}

function addFragment(content: Buffer, movie: Movie, fileBytes: number): void {
  const flags = wordAt(content, 0)
  const { track, sampleBytes, base } = movie.fragment
  const start = 8 + ((flags & 1) === 0 ? 0 : 4) + ((flags & 4) === 0 ? 0 : 4)
  const stride = TRUN_SAMPLE_FIELDS.filter((field) => (flags & field) !== 0).length * 4
  // The samples of a run follow one another: the file has no room for more.
  const room = stride === 0 ? fileBytes / Math.max(1, sampleBytes) : Math.max(0, content.length - start) / stride
  const count = Math.min(wordAt(content, 4), Math.floor(room))
  const found = movie.fragments.get(track) ?? foundSamples()
  movie.fragments.set(track, found)
  const first = start + ((flags & 0x100) === 0 ? 0 : 4)
  const at = (index: number): number =>
    (flags & 0x200) === 0 ? sampleBytes : content.readUInt32BE(first + index * stride)
  if (base !== null && (flags & 1) !== 0 && content.length >= 12)
    addRun(
      found,
      { first: 0, last: count, start: Math.max(0, base + content.readInt32BE(8)), fileBytes },
      { count, isSame: (flags & 0x200) === 0, at },
    )
  else if ((flags & 0x200) === 0) addUnplaced(found, count, count * sampleBytes)
  else for (let index = 0; index < count; index += 1) addUnplaced(found, 1, at(index))
}

/** Boxes that are opened; all others are skipped. */
const CONTAINERS: ReadonlySet<string> = new Set(['moov', 'trak', 'mdia', 'mvex', 'moof', 'traf'])
const DEPTH_MAX = 6
const BOXES_MAX = 300_000
const TRUN_SAMPLE_FIELDS = [0x100, 0x200, 0x400, 0x800] as const

interface Track {
  id: number
  sound: boolean
  timescale: number
  duration: number
}

interface Movie {
  boxes: number
  readonly tracks: Track[]
  /** The duration of a fragment's sample without its own, by track. */
  readonly defaults: Map<number, number>
  /** Of the movie's header. */
  seconds: number
  /** Fragments' durations by track, in its own time scale. */
  readonly fragments: Map<number, number>
  /** The track fragment under way. */
  fragment: { track: number; sampleDuration: number }
}

/** Seconds of the sound of an MP4, M4A or QuickTime file, fragmented or not; null where it cannot be read. */
export function mp4Seconds(bytes: Buffer): number | null {
  const movie: Movie = {
    boxes: 0,
    tracks: [],
    defaults: new Map(),
    seconds: 0,
    fragments: new Map(),
    fragment: { track: 0, sampleDuration: 0 },
  }
  readBoxes(bytes, movie, 0)
  const track = movie.tracks.find(({ sound, timescale }) => sound && timescale > 0)
  const duration = track === undefined ? 0 : track.duration + (movie.fragments.get(track.id) ?? 0)
  const seconds = track === undefined || duration === 0 ? movie.seconds : duration / track.timescale
  return seconds > 0 ? seconds : null
}

function readBoxes(bytes: Buffer, movie: Movie, depth: number): void {
  for (let at = 0; at + 8 <= bytes.length && movie.boxes < BOXES_MAX; movie.boxes += 1) {
    const short = bytes.readUInt32BE(at)
    const long = short === 1 && at + 16 <= bytes.length
    const declared = long ? Number(bytes.readBigUInt64BE(at + 8)) : short
    const head = long ? 16 : 8
    // 0 = up to the end of the file.
    const size = declared === 0 ? bytes.length - at : declared
    if (size < head) return
    const name = bytes.toString('latin1', at + 4, at + 8)
    const content = bytes.subarray(at + head, at + size)
    if (name === 'trak') movie.tracks.push({ id: 0, sound: false, timescale: 0, duration: 0 })
    if (CONTAINERS.has(name) && depth < DEPTH_MAX) readBoxes(content, movie, depth + 1)
    else if (content.length >= 8) readBox(name, content, movie)
    at += size
  }
}

function readBox(name: string, content: Buffer, movie: Movie): void {
  const track = movie.tracks.at(-1)
  if (name === 'mvhd') movie.seconds = Math.max(movie.seconds, headerSeconds(content))
  else if (name === 'tkhd' && track !== undefined) track.id = wordAt(content, content[0] === 1 ? 20 : 12)
  else if (name === 'hdlr' && track !== undefined) track.sound ||= content.toString('latin1', 8, 12) === 'soun'
  else if (name === 'mdhd' && track !== undefined) [track.timescale, track.duration] = timesOf(content)
  else if (name === 'trex') movie.defaults.set(wordAt(content, 4), wordAt(content, 12))
  else if (name === 'tfhd') movie.fragment = fragmentOf(content, movie)
  else if (name === 'trun') addRun(content, movie)
}

function headerSeconds(content: Buffer): number {
  const [timescale, duration] = timesOf(content)
  return timescale === 0 ? 0 : duration / timescale
}

/** Time scale and duration of `mvhd` and `mdhd`; a duration of all ones is unknown. */
function timesOf(content: Buffer): [timescale: number, duration: number] {
  if (content[0] !== 1) {
    const duration = wordAt(content, 16)
    return [wordAt(content, 12), duration === 0xffff_ffff ? 0 : duration]
  }
  const high = wordAt(content, 24)
  return [wordAt(content, 20), high === 0xffff_ffff ? 0 : high * 2 ** 32 + wordAt(content, 28)]
}

function fragmentOf(content: Buffer, movie: Movie): Movie['fragment'] {
  const flags = wordAt(content, 0)
  const track = wordAt(content, 4)
  const at = 8 + ((flags & 1) === 0 ? 0 : 8) + ((flags & 2) === 0 ? 0 : 4)
  return { track, sampleDuration: (flags & 8) === 0 ? (movie.defaults.get(track) ?? 0) : wordAt(content, at) }
}

function addRun(content: Buffer, movie: Movie): void {
  const flags = wordAt(content, 0)
  const samples = wordAt(content, 4)
  const { track, sampleDuration } = movie.fragment
  const start = 8 + ((flags & 1) === 0 ? 0 : 4) + ((flags & 4) === 0 ? 0 : 4)
  const stride = TRUN_SAMPLE_FIELDS.filter((field) => (flags & field) !== 0).length * 4
  let duration = 0
  if ((flags & 0x100) === 0) duration = samples * sampleDuration
  else
    for (let index = 0; index < samples && start + index * stride + 4 <= content.length; index += 1)
      duration += wordAt(content, start + index * stride)
  movie.fragments.set(track, (movie.fragments.get(track) ?? 0) + duration)
}

function wordAt(content: Buffer, at: number): number {
  return at + 4 <= content.length ? content.readUInt32BE(at) : 0
}

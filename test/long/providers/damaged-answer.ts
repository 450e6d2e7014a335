import type { Random } from '../../sim/random.ts'
import { framed } from '../../harness/aws.ts'
import type { Exchange } from '../../harness/recording.ts'
import { eventEnds } from '../../harness/replay.ts'

/** One event of an answer: `head` is what is before its JSON, `tail` what is after it. */
interface Piece {
  readonly head: string
  readonly json: unknown
  readonly tail: string
}

/** What no member of an answer should be. */
const ODD: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  -1_000_000,
  1.5,
  1e300,
  Number.MAX_SAFE_INTEGER,
  '',
  '7',
  'x',
  'x'.repeat(200_000),
  '\ud800',
  [],
  [null],
  [[]],
  {},
  { type: 'x' },
  { toString: 1 },
]
const COUNTS: readonly unknown[] = [-1, 0, 1e300, 2 ** 53, 1.5, '5', null, [], {}, 900_000_000]
const STRANGE: readonly Piece[] = [
  { head: 'data: ', json: { error: { message: 'It broke.', type: 'server_error', code: 500 } }, tail: '\n\n' },
  {
    head: 'event: error\ndata: ',
    json: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    tail: '\n\n',
  },
  { head: 'data: ', json: { error: { code: 503, message: 'Busy', status: 'UNAVAILABLE' } }, tail: '\n\n' },
  { head: 'data: ', json: { error: null }, tail: '\n\n' },
  { head: 'data: ', json: null, tail: '\n\n' },
  { head: 'data: ', json: [1], tail: '\n\n' },
  { head: 'data: {"broken":', json: 'x', tail: '\n\n' },
  { head: 'data: [DONE]\n\ndata: ', json: {}, tail: '\n\n' },
  { head: '<html>', json: 1, tail: '</html>\n\n' },
  { head: ': comment\n\n', json: {}, tail: '\n' },
]

/** Damages of an answer, each with its name: every event and every byte may be one that no honest provider sends. */
const DAMAGES: Readonly<
  Record<string, (pieces: readonly Piece[], random: Random, other: readonly Piece[]) => readonly Piece[]>
> = {
  'an event is missing': (pieces, random) => pieces.toSpliced(random.below(pieces.length), 1),
  'an event comes twice': (pieces, random) => {
    const at = random.below(pieces.length)
    return pieces.toSpliced(at, 0, ...pieces.slice(at, at + 1))
  },
  'an event comes again later': (pieces, random) =>
    pieces.toSpliced(random.below(pieces.length + 1), 0, random.pick(pieces)),
  'two events change places': (pieces, random) => {
    const [left, right] = [random.below(pieces.length), random.below(pieces.length)]
    return pieces.map((piece, index) => pieces[index === left ? right : index === right ? left : index] ?? piece)
  },
  'all events come in reverse': (pieces) => pieces.toReversed(),
  'all events come twice': (pieces) => [...pieces, ...pieces],
  'a member is another value': (pieces, random) =>
    changed(pieces, random, (value) => withLeaf(value, random, () => random.pick(ODD))),
  'a member is missing': (pieces, random) =>
    changed(pieces, random, (value) => withLeaf(value, random, () => undefined)),
  'a count is none': (pieces, random) => {
    const counted = pieces.flatMap(({ json }, index) =>
      /(?:token|count|usage)/i.test(JSON.stringify(json)) ? [index] : [],
    )
    if (counted.length === 0) return pieces
    const at = random.pick(counted)
    return pieces.map((piece, index) => (index === at ? { ...piece, json: withCount(piece.json, random) } : piece))
  },
  'something strange comes between': (pieces, random) =>
    pieces.toSpliced(random.below(pieces.length + 1), 0, random.pick(STRANGE)),
  'an event of another protocol comes between': (pieces, random, other) =>
    pieces.toSpliced(random.below(pieces.length + 1), 0, random.pick(other)),
  'the rest is of another protocol': (pieces, random, other) => [
    ...pieces.slice(0, random.below(pieces.length)),
    ...other,
  ],
  'it ends early': (pieces, random) => pieces.slice(0, random.below(pieces.length)),
}

/** A damaged copy of an answer, and what was done to it. */
export function damaged(
  exchange: Exchange,
  other: Exchange,
  random: Random,
): { readonly what: readonly string[]; readonly body: Buffer } {
  const what: string[] = []
  let pieces = piecesOf(exchange)
  for (let rounds = 1 + random.below(3); rounds > 0 && pieces.length > 0; rounds -= 1) {
    const [name, damage] = random.pick(Object.entries(DAMAGES))
    what.push(name)
    pieces = damage(pieces, random, piecesOf(other))
  }
  const body = written(pieces, exchange.framing)
  if (random.below(6) > 0 || body.length === 0) return { what, body }
  const at = random.below(body.length)
  if (random.below(2) === 0) return { what: [...what, `it is cut at byte ${at}`], body: body.subarray(0, at) }
  const bytes = Buffer.from(body)
  bytes[at] = random.below(256)
  return { what: [...what, `byte ${at} is another`], body: bytes }
}

function changed(pieces: readonly Piece[], random: Random, change: (value: unknown) => unknown): readonly Piece[] {
  const at = random.below(pieces.length)
  return pieces.map((piece, index) => (index === at ? { ...piece, json: change(piece.json) } : piece))
}

/** A copy with one member, however deep, put into another's place; undefined leaves it out. */
function withLeaf(value: unknown, random: Random, made: () => unknown): unknown {
  const isList = Array.isArray(value)
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) return made()
  const entries = Object.entries(value)
  const [name, member] = random.pick(entries)
  const next = random.below(3) === 0 ? made() : withLeaf(member, random, made)
  if (isList)
    return value.flatMap((one: unknown, index) => (String(index) !== name ? [one] : next === undefined ? [] : [next]))
  return Object.fromEntries(
    entries.flatMap(([key, one]) => (key !== name ? [[key, one]] : next === undefined ? [] : [[key, next]])),
  )
}

function withCount(value: unknown, random: Random): unknown {
  if (Array.isArray(value)) return value.map((one) => withCount(one, random))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      /(?:token|count|usage)/i.test(name) && random.below(3) === 0 ? random.pick(COUNTS) : withCount(member, random),
    ]),
  )
}

function piecesOf({ body, framing }: Exchange): readonly Piece[] {
  if (framing === 'eventstream') return messagesOf(body)
  if (framing === 'json') return [pieceOf(body.toString('utf8'), '')]
  let start = 0
  return eventEnds(body, framing).flatMap((end) => {
    const text = body.toString('utf8', start, end)
    start = end
    return text.trim() === '' ? [] : [pieceOf(text.trimEnd(), framing === 'sse' ? '\n\n' : '\n')]
  })
}

function pieceOf(text: string, tail: string): Piece {
  const at = text.search(/[[{]/)
  try {
    // Parsed to be damaged; it has any type.
    if (at !== -1) return { head: text.slice(0, at), json: JSON.parse(text.slice(at)) as unknown, tail }
  } catch {
    // Some events are no JSON.
  }
  return { head: text, json: undefined, tail }
}

/** Messages of AWS: the head is their headers. */
function messagesOf(body: Buffer): readonly Piece[] {
  const pieces: Piece[] = []
  for (let at = 0; at < body.length; at += body.readUInt32BE(at)) {
    const payload = at + 12 + body.readUInt32BE(at + 4)
    const text = body.toString('utf8', payload, at + body.readUInt32BE(at) - 4)
    pieces.push({ ...pieceOf(text, ''), head: body.toString('latin1', at + 12, payload) })
  }
  return pieces
}

function written(pieces: readonly Piece[], framing: string): Buffer {
  if (framing !== 'eventstream')
    return Buffer.from(
      pieces.map(({ head, json, tail }) => head + (json === undefined ? '' : JSON.stringify(json)) + tail).join(''),
    )
  return Buffer.concat(
    pieces.map(({ head, json }) =>
      framed(Buffer.from(head, 'latin1'), Buffer.from(json === undefined ? '' : JSON.stringify(json))),
    ),
  )
}

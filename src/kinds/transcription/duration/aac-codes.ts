/** By letter: the bits of signs and the escapes of a codeword. */
const ESCAPES: ReadonlyMap<string, readonly [number, number]> = new Map([
  ['a', [1, 1]],
  ['b', [2, 1]],
  ['c', [2, 2]],
])

/**
 * The codebooks of AAC (ISO/IEC 14496-3, 4.A). `lengths`: how many codewords have 1, 2, 3 … bits; the codewords follow
 * from these numbers, because a longer one is always the greater number. `signs`: how many sign bits follow each
 * codeword, from the shortest on; `a`, `b` and `c` are 1, 2 and 2 sign bits with 1, 1 and 2 escapes behind them.
 */
const BOOKS = [
  { lengths: [1, 0, 0, 0, 8, 0, 24, 0, 24, 8, 16] },
  { lengths: [0, 0, 1, 1, 7, 24, 15, 19, 14] },
  {
    lengths: [1, 0, 0, 4, 2, 6, 3, 5, 15, 15, 8, 9, 3, 3, 5, 2],
    signs: '011112222232343311223232331221224334323244332333223243344233333344442233434443233',
  },
  {
    lengths: [0, 0, 0, 10, 6, 0, 9, 21, 8, 14, 11, 2],
    signs: '433331202222121144443333333333332222222222221111444444333333333433344422222243333',
  },
  { lengths: [1, 0, 0, 4, 4, 0, 4, 12, 12, 12, 18, 10, 4] },
  { lengths: [0, 0, 0, 9, 0, 16, 13, 8, 23, 8, 4] },
  {
    lengths: [1, 0, 2, 1, 0, 4, 5, 10, 14, 15, 8, 4],
    signs: '0112221122211222222221122212122222222211222222222222112222222222',
  },
  {
    lengths: [0, 0, 1, 5, 7, 10, 14, 15, 8, 4],
    signs: '2212120112222222221122222222221212222222121222222222221212222112',
  },
  {
    lengths: [1, 0, 2, 1, 0, 4, 3, 8, 11, 20, 31, 38, 32, 14, 4],
    signs:
      '0112221122211222222221122222221212222222212222222212221222212222112222222222222122212222222222222222222212212222222122222222222222212212222122222222222222222222222222222',
  },
  {
    lengths: [0, 0, 0, 3, 8, 14, 17, 25, 31, 41, 22, 8],
    signs:
      '2222112222211222202211222222222222121222222222222121222222222222222222122222122222222222222222121222222212222221222222222222222221212122222222222222212122212221222222122',
  },
  {
    lengths: [0, 0, 0, 2, 6, 7, 16, 59, 55, 95, 43, 6],
    signs:
      '02c11222222121222222211222222222222222bbbbb2b121b2bbbb22222bb22bbb22b2bbb2b22bb2221bb222212bb22b2b2222222b221222222122222222222222122222222222a222222a2122222222222222222222222222222212222222222222222221222222222222222222222222222112222222222222222222222222212212122212222211222212212112112',
  },
] as const

/** The codebook of scale factors: its longest codewords are too long for a table. */
const SCALE_FACTORS = [1, 0, 1, 3, 2, 4, 3, 5, 4, 6, 6, 6, 5, 8, 4, 7, 3, 7, 46] as const
export const SCALE_FACTOR_BITS_MAX = SCALE_FACTORS.length

/**
 * `table` is indexed by the next bits. Its low five bits are the length of a codeword with its signs, the others the
 * escapes.
 */
export interface Book {
  readonly table: Uint8Array
  /** A word of 32 bits, shifted right by this, is an index of the table. */
  readonly shift: number
  /** How many values a codeword stands for. */
  readonly values: 2 | 4
}

/** The codebooks by their numbers; 0 is none. */
export const CODEBOOKS: readonly (Book | null)[] = [null, ...BOOKS.map(bookOf)]

/** For each length, from one bit on: the first number above its codewords, with zeros added up to the longest length. */
export const SCALE_FACTOR_ENDS: readonly number[] = endsOf(SCALE_FACTORS)

/** Values of each band of a long window, by the index of the rate. */
export const LONG_BANDS = byRate([
  [
    4,
    4,
    4,
    4,
    4,
    4,
    4,
    4,
    4,
    4,
    4,
    4,
    4,
    4,
    8,
    8,
    8,
    8,
    8,
    12,
    12,
    12,
    12,
    12,
    16,
    16,
    24,
    28,
    36,
    44,
    ...times(11, 64),
  ],
  [4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 16, 16, 16, 20, 24, 24, 28, 36, ...times(18, 40)],
  [...times(10, 4), ...times(7, 8), 12, 12, 12, 12, 16, 16, 20, 20, 24, 24, 28, 28, ...times(19, 32), 96],
  [...times(10, 4), ...times(7, 8), 12, 12, 12, 12, 16, 16, 20, 20, 24, 24, 28, 28, ...times(22, 32)],
  [
    ...times(11, 4),
    ...times(10, 8),
    12,
    12,
    12,
    12,
    16,
    16,
    16,
    20,
    20,
    24,
    24,
    28,
    28,
    32,
    36,
    36,
    40,
    44,
    48,
    52,
    52,
    64,
    64,
    64,
    64,
    64,
  ],
  [
    ...times(11, 8),
    ...times(9, 12),
    16,
    16,
    16,
    16,
    20,
    20,
    20,
    24,
    24,
    28,
    28,
    32,
    36,
    40,
    40,
    44,
    48,
    52,
    56,
    60,
    64,
    64,
    64,
  ],
  [...times(13, 12), ...times(7, 16), 20, 20, 20, 20, 24, 24, 24, 28, 28, 32, 36, 36, 40, 44, 48, 52, 56, 60, 64, 80],
])

/** The same of each of the eight short windows. */
export const SHORT_BANDS = byRate([
  [4, 4, 4, 4, 4, 4, 8, 8, 8, 16, 28, 36],
  [4, 4, 4, 4, 4, 4, 8, 8, 8, 16, 28, 36],
  [4, 4, 4, 4, 4, 8, 8, 8, 12, 12, 12, 16, 16, 16],
  [4, 4, 4, 4, 4, 8, 8, 8, 12, 12, 12, 16, 16, 16],
  [4, 4, 4, 4, 4, 4, 4, 8, 8, 8, 12, 12, 16, 16, 20],
  [4, 4, 4, 4, 4, 4, 4, 4, 8, 8, 12, 12, 16, 20, 20],
  [4, 4, 4, 4, 4, 4, 4, 8, 8, 8, 8, 12, 16, 20, 20],
])

function bookOf({ lengths, signs = '' }: { lengths: readonly number[]; signs?: string }, index: number): Book {
  const table = new Uint8Array(1 << lengths.length)
  let at = 0
  let codeword = 0
  for (const [shorter, count] of lengths.entries()) {
    const width = 1 << (lengths.length - shorter - 1)
    for (let left = count; left > 0; left -= 1, at += width, codeword += 1) {
      const sign = signs[codeword] ?? '0'
      const [signBits, escapes] = ESCAPES.get(sign) ?? [Number(sign), 0]
      table.fill((escapes << 5) | (shorter + 1 + signBits), at, at + width)
    }
  }
  return { table, shift: 32 - lengths.length, values: index < 4 ? 4 : 2 }
}

function endsOf(lengths: readonly number[]): readonly number[] {
  let end = 0
  return lengths.map((count, shorter) => (end += count * 2 ** (lengths.length - shorter - 1)))
}

function times(count: number, value: number): readonly number[] {
  return Array.from({ length: count }, () => value)
}

/** The rates of 96, 64, 48, 32, 24, 16 and 8 kHz stand for those beside them. */
function byRate(groups: readonly (readonly number[])[]): readonly (readonly number[])[] {
  return [0, 0, 1, 2, 2, 3, 4, 4, 5, 5, 5, 6, 6].map((group) => groups[group] ?? [])
}

import { readFileSync } from 'node:fs'
import { BytePairs } from '../../pay/plan/tokens/encoding.ts'
import { TokenTable } from '../../pay/plan/tokens/token-table.ts'

export const ENCODING_NAMES = ['o200k_base', 'cl100k_base'] as const
export type EncodingName = (typeof ENCODING_NAMES)[number]

const UTF8_BYTES_PER_UNIT = 3
const utf8 = new TextEncoder()

/** How an encoding splits a text before merging pairs, as its makers publish it. */
interface EncodingFacts {
  readonly tokens: number
  readonly file: URL
  readonly pieces: RegExp
}

/** `scripts/token-tables.ts` makes the files. */
const ENCODINGS: Readonly<Record<EncodingName, EncodingFacts>> = {
  o200k_base: {
    tokens: 199_998,
    file: new URL('../../pay/plan/tokens/o200k_base.tokens', import.meta.url),
    pieces:
      /[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?:'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE]))?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?:'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE]))?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+/gu,
  },
  cl100k_base: {
    tokens: 100_256,
    file: new URL('../../pay/plan/tokens/cl100k_base.tokens', import.meta.url),
    pieces:
      /'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+$|\s*[\r\n]|\s+(?!\S)|\s/gu,
  },
}

/** Counts the tokens of a text; special tokens count as plain text. */
export class Encoding {
  readonly #pieces: RegExp
  readonly #pairs: BytePairs
  #bytes = new Uint8Array(4_096)

  private constructor({ tokens, file, pieces }: EncodingFacts) {
    this.#pieces = pieces
    this.#pairs = new BytePairs(new TokenTable(readFileSync(file), tokens))
  }

  /** Reads the table: about 25 ms. */
  static load(name: EncodingName): Encoding {
    return new Encoding(ENCODINGS[name])
  }

  count(text: string): number {
    let tokens = 0
    for (const piece of text.match(this.#pieces) ?? []) {
      const length = this.#write(piece)
      tokens += this.#pairs.count(this.#bytes, length)
    }
    return tokens
  }

  /** Writes the piece as UTF-8 into `#bytes`; returns its length. */
  #write(piece: string): number {
    const most = piece.length * UTF8_BYTES_PER_UNIT
    if (most > this.#bytes.length) this.#bytes = new Uint8Array(most)
    return utf8.encodeInto(piece, this.#bytes).written
  }
}

import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { ENCODING_NAMES, type EncodingName } from '../src/pay/plan/tokens/encoding.ts'

/** `npm run tokens`: makes the token tables in `src/pay/plan/tokens/` from the lists of `gpt-tokenizer`. */
const ROOT = join(import.meta.dirname, '..')
const LISTS = join(dirname(createRequire(import.meta.url).resolve('gpt-tokenizer/package.json')), 'data')

/** One length byte for each token by rank, then the bytes of all tokens. */
export function packedTokens(encoding: EncodingName): Buffer {
  const tokens = readFileSync(join(LISTS, `${encoding}.tiktoken`), 'latin1')
    .split('\n')
    .filter((line) => line !== '')
    .map((line, index) => {
      const [text, rank] = line.split(' ')
      if (text === undefined || Number(rank) !== index) throw new Error(`${encoding}, line ${index + 1}: ${line}`)
      const token = Buffer.from(text, 'base64')
      if (token.length === 0 || token.length > 255) throw new Error(`${encoding}: a token of ${token.length} bytes`)
      return token
    })
  return Buffer.concat([Buffer.from(tokens.map(({ length }) => length)), ...tokens])
}

if (import.meta.main)
  for (const encoding of ENCODING_NAMES)
    writeFileSync(join(ROOT, `src/pay/plan/tokens/${encoding}.tokens`), packedTokens(encoding))

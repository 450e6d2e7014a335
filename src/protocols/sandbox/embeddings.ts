import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EmbeddingsAnswer, EmbeddingsRequest } from '../../kinds/embeddings.ts'
import { inputUsage } from '../../kinds/answer/usage.ts'
import type { AttemptFailure } from '../ports/attempt-failure.ts'
import { textTokens } from './answer.ts'
import { failureOf } from './failure.ts'
import type { SandboxScript } from './script.ts'
import { floatBytes } from '../answers/vectors.ts'

const DIMENSIONS_DEFAULT = 64
const DIMENSIONS_MAX = 4_096
/** Numbers made before other requests get their turn: about 10 ms. */
const TURN_NUMBERS = 65_536

/** A vector for each input that depends only on the input: the same text always gives the same vector. */
export async function sandboxEmbeddings(
  request: EmbeddingsRequest,
  script: SandboxScript,
): Promise<EmbeddingsAnswer | AttemptFailure> {
  const { input, encodingFormat } = request
  const length = request.dimensions ?? DIMENSIONS_DEFAULT
  if (length > DIMENSIONS_MAX)
    return {
      ...failureOf('status', 400, 'too many dimensions'),
      publicMessage: `dimensions: must be at most ${DIMENSIONS_MAX}`,
    }
  const texts = input.type === 'texts' ? input.texts : input.lists.map((list) => list.join(' '))
  const tokens =
    input.type === 'texts'
      ? texts.reduce((sum, text) => sum + textTokens(text), 0)
      : input.lists.reduce((sum, list) => sum + list.length, 0)
  const vectors: Buffer[] = []
  let made = 0
  for (const text of script.words === 0 ? [] : texts) {
    const numbers = unitVector(text, length)
    vectors.push(
      Buffer.from(encodingFormat === 'float' ? JSON.stringify(numbers) : `"${floatBytes(numbers).toString('base64')}"`),
    )
    made += length
    if (made < TURN_NUMBERS) continue
    made = 0
    await nextTurn()
  }
  return { vectors, usage: inputUsage({ tokens }), upstreamId: null }
}

/** Of length 1, as real vectors are. Each number is a float32, so both forms are equal. */
function unitVector(text: string, length: number): readonly number[] {
  // A xorshift generator would stay at 0.
  let state = createHash('sha256').update(text).digest().readInt32LE(0) || 1
  const raw = Array.from({ length }, () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state
  })
  const norm = Math.hypot(...raw)
  return raw.map((number) => Math.fround(number / norm))
}

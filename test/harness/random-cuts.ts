/** A repeatable sequence in [0, 1): a failing cut can be made again. */
export function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** A body in pieces, as a network might deliver it. */
export function cutAtRandom(body: Buffer, random: () => number): readonly Buffer[] {
  const pieces: Buffer[] = []
  const longest = 1 + Math.floor(random() * 400)
  for (let start = 0; start < body.length;) {
    const end = start + 1 + Math.floor(random() * longest)
    pieces.push(body.subarray(start, end))
    start = end
  }
  return pieces
}

import type { Prices } from '../../../../src/cabinet/contract.ts'

const CHARACTERS_PER_TOKEN = 4
const MILLION = 1_000_000

/**
 * A guess in RUB of what a running answer costs so far, for the eye alone: four characters a token. The answer's end
 * says it exactly.
 */
export function liveCost(
  turns: readonly { readonly text: string; readonly reasoning: string }[],
  prices: Prices,
): number {
  const asked = turns.slice(0, -1).reduce((sum, { text }) => sum + text.length, 0)
  const last = turns.at(-1)
  const answered = (last?.text.length ?? 0) + (last?.reasoning.length ?? 0)
  return (
    (asked * Number(prices['prompt'] ?? 0) + answered * Number(prices['completion'] ?? 0)) /
      CHARACTERS_PER_TOKEN /
      MILLION +
    Number(prices['request'] ?? 0)
  )
}

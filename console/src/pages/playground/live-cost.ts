import type { Prices } from '../../../../src/cabinet/model-contract.ts'

const CHARACTERS_PER_TOKEN = 4
const MILLION = 1_000_000

/**
 * An estimate in RUB of what a running answer costs so far, with four characters a token. It is only shown: the end of
 * the answer has the exact cost.
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

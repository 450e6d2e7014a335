/** The least budget of thinking that a provider accepts. */
const BUDGET_MIN = 1_024

/**
 * The tokens for thinking out of an answer of `sent` tokens, where the client wanted `budget` out of `asked` and the
 * model gives shorter answers: their share stays, since a budget that leaves no room for the text is refused. null =
 * nothing fits.
 */
export function fittedBudget(budget: number, asked: number | null, sent: number | null): number | null {
  // A pair that the client made so itself is its own.
  if (asked === null || sent === null || sent >= asked || budget < sent || budget >= asked) return budget
  return sent <= BUDGET_MIN ? null : Math.max(BUDGET_MIN, Math.min(sent - 1, Math.floor((budget / asked) * sent)))
}

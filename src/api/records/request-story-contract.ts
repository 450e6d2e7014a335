import { ERROR_TYPES } from '../../base/errors.ts'
import { METERS } from '../../tables/meters.ts'
import { either, list, nullable, object, oneOf, rub, text, time, whole, type Static } from '../../base/schema.ts'
import { ATTEMPT_REASONS } from '../../ledger/generation-record.ts'

export const StoryAttempt = object({
  provider: nullable(text()),
  outcome: oneOf(['answered', 'failed']),
  reason: nullable(either(oneOf(ATTEMPT_REASONS), oneOf(ERROR_TYPES))),
  status: nullable(whole()),
})
export type StoryAttempt = Static<typeof StoryAttempt>

export const BillLine = object(
  {
    meter: oneOf(METERS),
    units: whole(),
    price: text('RUB per unit, an exact decimal.'),
    cost: text('RUB, an exact decimal.'),
  },
  'One line of the bill: units × price = cost, before the one rounding up to a micro-ruble.',
)
export type BillLine = Static<typeof BillLine>

export const BillAdjustment = object(
  {
    reason: oneOf(['rounding', 'not_charged', 'insured', 'not_covered']),
    amount: text('RUB, an exact decimal; negative where it lowers the amount.'),
  },
  'A line below the sum: what was rounded up, what a free answer does not cost, what the operator or the balance did not cover.',
)
export type BillAdjustment = Static<typeof BillAdjustment>

const HoldStory = object(
  {
    amount: rub(),
    state: oneOf(['open', 'settled', 'voided', 'expired', 'settled_late']),
    placed_at: time(),
    ended_at: nullable(time()),
    charged: rub(),
    returned: rub(),
    shortfall: rub(),
  },
  'Money set aside and what became of it; null for requests that held nothing.',
)

/** The parts of a request's story that its customer and the operator both see. */
export const STORY_FIELDS = {
  bill: list(BillLine),
  bill_total: nullable(text('The exact sum of the bill before rounding; null when its price version is gone.')),
  bill_adjustments: list(BillAdjustment, '`bill_total` and these add up to the charge exactly.'),
  cache_saved: nullable(
    rub('What the prompt cache saved: cached units × (plain − cached price); null where nothing was charged.'),
  ),
  credit: nullable(
    object(
      { amount: rub('Above 0.'), at: time(), reason: nullable(text()) },
      'What the operator has given back of the charge.',
    ),
  ),
  hold: nullable(HoldStory),
  timings: object({ arrived_at: time(), first_token_at: nullable(time()), ended_at: time() }),
}
const Story = object(STORY_FIELDS)
export type StoryParts = Static<typeof Story>

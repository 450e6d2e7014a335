import { either, list, object, only, text, time, type Static } from '../../base/schema.ts'

/** A condition that the operator should know of; it disappears when it is mended. */
export const OperatorWarning = either(
  object({ kind: only('rates_failed'), since: time(), reason: text() }),
  object({
    kind: only('rates_refused'),
    since: time(),
    rates: list(object({ currency: text(), rate: text(), held: text() })),
  }),
)
export type OperatorWarning = Static<typeof OperatorWarning>

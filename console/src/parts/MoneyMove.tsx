import { microOf, rubles } from '../../../src/base/money.ts'
import { Facts } from './Page.tsx'
import { format, t } from './words.ts'

/** Where money comes from, where it goes, and what that does to a balance. */
export interface Move {
  readonly from: string
  readonly to: string
  /** RUB, as the balance changes: below 0 = money leaves it. */
  readonly change: number
  readonly balance: number
}

/** The balance after the move, in whole micro-rubles, so that it is exactly the one that will be booked. */
export function balanceAfter({ balance, change }: Pick<Move, 'balance' | 'change'>): number {
  return rubles(microOf(balance) + microOf(change))
}

/** What a money action will do, above its button. */
export function MoneyMove({ move }: { readonly move: Move }) {
  const { from, to, change, balance } = move
  if (change === 0 || !Number.isFinite(change)) return null
  return (
    <div role="status" className="move">
      <Facts
        items={[
          [t('move.from'), from],
          [t('move.to'), to],
          [t('money.amount'), format.exactRubles(Math.abs(change))],
          [t('home.balance'), `${format.exactRubles(balance)} → ${format.exactRubles(balanceAfter(move))}`],
        ]}
      />
    </div>
  )
}

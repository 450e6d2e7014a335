import type { Clock } from '../lib/clock.ts'
import type { Micro } from '../base/money.ts'

/** Nodes give back what they set aside within 7.5 s of an account's last request (decision 14). */
const GIVEN_BACK_MS = 8_000
const LOOK_MS = 250

/** The part of an account's money that no hold has. */
export interface FreeMoney {
  readonly availableMicro: Micro
  /** Set aside by nodes for requests to come. */
  readonly setAsideMicro: Micro
}

export interface FreedMoneyPorts {
  readonly clock: Clock
  readonly look: (accountId: string) => Promise<FreeMoney>
  /** This node gives back what it has set aside for the account. */
  readonly giveBack: (accountId: string) => Promise<void>
}

/**
 * Waits until an account has `amountMicro` available, where that only lacks what nodes have set aside for its next
 * requests: 8 s at most. Refunds and corrections call it, which the database would refuse otherwise.
 */
export async function freedMoney(ports: FreedMoneyPorts, accountId: string, amountMicro: Micro): Promise<void> {
  const endMs = ports.clock.monotonic() + GIVEN_BACK_MS
  for (;;) {
    const { availableMicro, setAsideMicro } = await ports.look(accountId)
    if (availableMicro >= amountMicro || availableMicro + setAsideMicro < amountMicro) return
    if (ports.clock.monotonic() >= endMs) return
    await ports.giveBack(accountId)
    await new Promise<void>((resolve) => void ports.clock.after(LOOK_MS, resolve))
  }
}

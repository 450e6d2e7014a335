import type { EventAction } from '../ledger/event-action.ts'
import type { Clock } from '../base/clock.ts'
import type { EventRecord, EventStore } from '../store/events/event-store.ts'
import type { RefusedRate } from './feed-rates.ts'

/** Why the rates in force are not those of the Central Bank. */
export type RateTrouble =
  | { readonly kind: 'rates_failed'; readonly reason: string }
  | { readonly kind: 'rates_refused'; readonly rates: readonly RefusedRate[] }

const ACTIONS = { rates_failed: 'rates.failed', rates_refused: 'rates.refused' } as const
const MENDED = 'rates.mended'
const ALL: readonly EventAction[] = [...Object.values(ACTIONS), MENDED]
const ACTOR = 'cbr'
const OBJECT = 'rates'

type Events = Pick<EventStore, 'append' | 'newest'>

/**
 * Writes an event when a trouble begins, changes or ends, and none while it lasts. So the newest event is the current
 * state, on every node and after a restart.
 */
export async function noteRates(events: Events, clock: Clock, trouble: RateTrouble | null): Promise<void> {
  const before = await events.newest(ALL)
  if (trouble === null) {
    if (before === null || before.action === MENDED) return
    return append(events, clock, MENDED, null)
  }
  if (
    before?.action === ACTIONS[trouble.kind] &&
    (trouble.kind === 'rates_failed' || currencies(readTrouble(before)) === currencies(trouble))
  )
    return
  await append(events, clock, ACTIONS[trouble.kind], trouble)
}

/** The current trouble and its beginning. */
export async function currentRateTrouble(
  events: Pick<EventStore, 'newest'>,
): Promise<(RateTrouble & { readonly sinceMs: number }) | null> {
  const newest = await events.newest(ALL)
  const trouble = newest === null ? null : readTrouble(newest)
  return newest === null || trouble === null ? null : { ...trouble, sinceMs: newest.atMs }
}

async function append(events: Events, clock: Clock, action: EventAction, trouble: RateTrouble | null): Promise<void> {
  await events.append({
    atMs: clock.now(),
    actor: ACTOR,
    ip: null,
    action,
    object: OBJECT,
    before: null,
    after: trouble === null ? null : JSON.stringify(trouble),
  })
}

function readTrouble({ after }: EventRecord): RateTrouble | null {
  // Written by `append` into a table whose rows never change.
  return after === null ? null : (JSON.parse(after) as RateTrouble)
}

function currencies(trouble: RateTrouble | null): string {
  return trouble?.kind === 'rates_refused'
    ? trouble.rates
        .map(({ currency }) => currency)
        .toSorted()
        .join(' ')
    : ''
}

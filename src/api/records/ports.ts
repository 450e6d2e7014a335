import type { Access } from '../../access/access.ts'
import type { Clock } from '../../base/clock.ts'
import type { ApiError } from '../../base/errors.ts'
import type { IdSource } from '../../base/ids.ts'
import { reasonError } from '../../base/refusals.ts'
import type { CatalogService } from '../../catalog/catalog-service.ts'
import type { EventAction } from '../../ledger/event-action.ts'
import type { PeriodStarts } from '../../ledger/ledger-store.ts'
import { eventText } from '../../notices/channels.ts'
import type { MailedLinks } from '../../notices/letters.ts'
import type { HealthReport } from '../../pay/relay/endpoint-health.ts'
import type { ChannelType } from '../../store/notices/notice-rows.ts'
import type { Store } from '../../store/store.ts'
import type { ModelType } from '../../tables/model-types.ts'

/** What the console's API and the operator's both need. */
export interface ConsolePorts {
  readonly store: Store
  readonly catalog: CatalogService
  readonly access: Access
  readonly clock: Clock
  readonly ids: IdSource
  readonly periods: () => PeriodStarts
  /** Waits until nodes have given back money set aside for the account, if an entry of this amount needs it. */
  readonly freed: (accountId: string, amountMicro: bigint) => Promise<void>
  readonly health: { report(endpointId: string): HealthReport }
  /** Parameters that an adapter can carry for a type of model. */
  readonly parametersOf: (adapterName: string, type: ModelType) => readonly string[]
  /** null = taken from the request's Host. */
  readonly publicUrl: string | null
  /** Whether sign-up is open unless the live settings say otherwise. */
  readonly signupDefault: 'open' | 'closed'
  /** The ways of sending notices that are set up. */
  readonly channelTypes: ReadonlySet<ChannelType>
  /** null = no mail server or no public address is set. */
  readonly mailedLinks: MailedLinks | null
}

/** Who makes a change. */
export interface Actor {
  readonly actor: string
  /** null = the service itself. */
  readonly ip: string | null
}

/** Appends a change to the audit log: who, what, when, before and after. */
export async function recordEvent(
  { store, clock }: { readonly store: Pick<Store, 'events'>; readonly clock: Clock },
  { actor, ip }: Actor,
  action: EventAction,
  object: string,
  after: unknown = null,
  before: unknown = null,
): Promise<void> {
  await store.events.append({
    atMs: clock.now(),
    actor,
    ip,
    action,
    object,
    before: eventText(action, before),
    after: eventText(action, after),
  })
}

/** At most `most` characters of the id are shown. */
export function notFound(what: string, id: string, most = 80): ApiError {
  const shown = id.slice(0, most)
  return reasonError('unknown_id', { id: shown }, { says: `${what} '${shown}' not found` })
}

import type { Principal } from '../../access/principal.ts'
import { usedSince, type PriceActor } from '../../catalog/held-prices.ts'
import type { ModelEntry } from '../../catalog/document.ts'
import { defined } from '../../catalog/field-reader.ts'
import type { PriceChange } from '../../catalog/price-list.ts'
import { wirePrice } from '../../catalog/wire-document.ts'
import type { Route } from '../../http/edge.ts'
import { rubles } from '../../base/money.ts'
import { applied } from './providers.ts'
import type { PriceChange as WirePriceChange } from './catalog-contract.ts'
import { reasonError } from '../../base/refusals.ts'
import { actor, adminRoute, notFound, param, type AdminCall, type AdminPorts } from './ports.ts'

type WireRow = NonNullable<WirePriceChange['row']>

const ACCOUNTS_MAX = 1_000

/**
 * Prices that follow the lists of providers: the changes that wait, the customers whom they concern, and the operator's
 * decision.
 */
export function priceAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  const by = (call: AdminCall): PriceActor => priceActor(ports, call)
  const decide = async (call: AdminCall, isApproved: boolean): Promise<WirePriceChange> => {
    const id = param(call, 'id')
    const change = await applied(() => ports.prices.book.decide(id, isApproved, by(call)))
    if (change === null) throw notFound('Price change', id)
    if (change === 'overtaken') throw reasonError('price_overtaken')
    return wireChange(change)
  }
  return [
    adminRoute('GET /admin/v1/price-changes', async () => ({ data: (await ports.prices.book.held()).map(wireChange) })),
    adminRoute('POST /admin/v1/price-changes/fetch', async (call) => {
      const rounds = await ports.prices.fetchLists(by(call))
      const data = rounds.map(({ provider, applied: made, held, failure }) => ({
        provider,
        applied: made.map(wireChange),
        held: held.map(wireChange),
        failure,
      }))
      return { data }
    }),
    adminRoute('GET /admin/v1/price-changes/accounts', async (call) => {
      const model = call.query.get('model')
      const models = model === null ? (await ports.prices.book.held()).map((change) => change.model) : [model]
      const { total, data } = await ports.store.generations.usersOf(models, usedSince(ports.clock.now()), ACCOUNTS_MAX)
      return {
        total,
        data: data.map(({ accountId, requests, revenueMicro }) => ({
          account: accountId,
          requests,
          revenue: rubles(revenueMicro),
        })),
      }
    }),
    adminRoute('POST /admin/v1/price-changes/:id/approve', (call) => decide(call, true)),
    adminRoute('POST /admin/v1/price-changes/:id/reject', (call) => decide(call, false)),
  ]
}

export function priceActor(ports: AdminPorts, call: AdminCall): PriceActor {
  return { actor: actor(ports, call), ip: call.clientIp }
}

export function wireChange({ before, after, row, ...named }: PriceChange): WirePriceChange {
  const { isListed: _, ...rest } = named
  return {
    ...rest,
    before: before === null ? null : wirePrice(before),
    after: wirePrice(after),
    ...(row === undefined ? {} : { row: wireRow(row) }),
  }
}

function wireRow({
  name,
  type,
  context_length,
  max_completion_tokens,
  guessed,
  input_modalities,
}: ModelEntry): WireRow {
  return {
    type,
    ...defined({
      name: name ?? null,
      context_length: context_length ?? null,
      max_completion_tokens: max_completion_tokens ?? null,
      guessed: guessed ?? null,
      input_modalities: input_modalities ?? null,
    }),
  }
}

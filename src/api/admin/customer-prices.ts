import { endpointId, type CatalogDocument, type ModelEntry } from '../../catalog/document.ts'
import type { Endpoint, Model, Prices } from '../../catalog/catalog.ts'
import { pricesFor } from '../../catalog/customer-prices.ts'
import { markupRule } from '../../catalog/markup.ts'
import { priceText, shownConditions, shownPrices, type ShownPrice } from '../../catalog/shown-prices.ts'
import { ownValue } from '../../base/own-value.ts'
import { fieldError } from '../../base/refusals.ts'
import type { AccountGroup } from '../../store/accounts/account-group-store.ts'
import type { AccountRecord } from '../../store/accounts/account-store.ts'
import { pageOf, type Page, type PageRange } from '../../store/page.ts'
import type { CustomerEndpoint, CustomerPrice } from './group-contract.ts'
import { percent } from './margin.ts'
import { notFound, type AdminPorts } from './ports.ts'

type PayingCustomer = Pick<CustomerPrice, 'account' | 'account_name' | 'group' | 'rule' | 'markup'>

/** What one account pays for each model, or each account for one model. */
export async function customerPrices(
  ports: AdminPorts,
  query: URLSearchParams,
  range: PageRange,
): Promise<Page<CustomerPrice>> {
  const [account, model] = [query.get('account'), query.get('model')]
  const groups = new Map((await ports.store.accountGroups.list()).map((group) => [group.id, group]))
  const text = query.get('query') ?? ''
  if (account !== null) {
    const found = await ports.store.accounts.get(account)
    if (found === null) throw notFound('Account', account)
    return ofAccount(ports, customerOf(found, groups), { model, text }, range)
  }
  if (model === null) throw fieldError('account', 'required', {}, 'is required, or model in its place')
  const sold = ports.catalog.current().models.get(model)
  if (sold === undefined) throw notFound('Model', model)
  const { data, ...rest } = await ports.store.accounts.list({ query: text === '' ? null : text, ...range })
  const document = ports.catalog.shown()
  const entry = document.models.find(({ id }) => id === sold.id)
  return { data: data.map((one) => priceOf(document, customerOf(one, groups), sold, entry)), ...rest }
}

function ofAccount(
  ports: AdminPorts,
  customer: PayingCustomer,
  { model, text }: { readonly model: string | null; readonly text: string },
  range: PageRange,
): Page<CustomerPrice> {
  const wanted = text.trim().toLowerCase()
  const found = [...ports.catalog.current().models.values()].filter(
    ({ id, name }) => (model === null || id === model) && `${id} ${name}`.toLowerCase().includes(wanted),
  )
  const document = ports.catalog.shown()
  const entries = new Map(document.models.map((entry) => [entry.id, entry]))
  const { data, ...rest } = pageOf(found, range)
  return { data: data.map((sold) => priceOf(document, customer, sold, entries.get(sold.id))), ...rest }
}

function customerOf(account: AccountRecord, groups: ReadonlyMap<string, AccountGroup>): PayingCustomer {
  const group = account.groupId === null ? undefined : groups.get(account.groupId)
  const markup = account.markup ?? group?.markup ?? null
  return {
    account: account.id,
    account_name: account.name,
    group: group?.name ?? null,
    rule: markup === null ? 'none' : account.markup === null ? 'group' : 'account',
    markup,
  }
}

function priceOf(
  document: CatalogDocument,
  customer: PayingCustomer,
  model: Model,
  entry: ModelEntry | undefined,
): CustomerPrice {
  return {
    ...customer,
    model: model.id,
    model_name: model.name,
    type: model.type,
    endpoints: model.endpoints.map((endpoint) => endpointOf(document, entry, model, endpoint, customer.markup)),
  }
}

function endpointOf(
  { providers, settings }: CatalogDocument,
  entry: ModelEntry | undefined,
  model: Model,
  endpoint: Endpoint,
  markup: string | null,
): CustomerEndpoint {
  const { slug, name } = endpoint.provider
  const isSold = entry?.endpoints.some((one) => endpointId(one) === endpoint.id && one.sell !== undefined)
  const linesOf = (
    shown: readonly ShownPrice[],
    { sell, buy }: Pick<Prices, 'sell' | 'buy'>,
  ): CustomerEndpoint['lines'] => {
    const paid = pricesFor({ sell, buy }, markup ?? undefined).sell
    return shown.map(({ key, meter, text: listed }) => {
      const [cost, pays] = [priceText(meter, buy), priceText(meter, paid)]
      const margin = percent(Number(pays) - Number(cost), Number(pays))
      return { price: key, cost, listed, paid: pays, margin_percent: margin }
    })
  }
  return {
    endpoint: endpoint.id,
    provider_name: name,
    ...(isSold === true
      ? { rule: 'sell', markup: null }
      : markupRule(entry ?? {}, ownValue(providers, slug), settings)),
    lines: linesOf(shownPrices(model.type, endpoint.sell), endpoint),
    conditions: shownConditions(endpoint).map(({ condition, lines, ...prices }) => ({
      condition,
      lines: linesOf(lines, prices),
    })),
  }
}

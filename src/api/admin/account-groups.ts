import { isFound } from '../../base/search-words.ts'
import type { Principal } from '../../access/principal.ts'
import type { Route } from '../../http/edge.ts'
import { wire } from '../../base/wire-route.ts'
import { fieldError, reasonError } from '../../base/refusals.ts'
import type { AccountGroup as GroupRecord, AccountGroupPatch } from '../../store/accounts/account-group-store.ts'
import { markupText } from './accounts.ts'
import { AccountGroup, AccountGroupBody, type CustomerEndpoint, type CustomerPrice } from './group-contract.ts'
import { listRoute, adminRoute, type AdminPorts, notFound } from './ports.ts'
import { listBody } from '../records/list-file.ts'
import { namedRecordRoutes, postRoute, type NamedRecords } from './records.ts'
import { endpointId, type CatalogDocument, type ModelEntry } from '../../catalog/document.ts'
import type { Endpoint, Model, Prices } from '../../catalog/catalog.ts'
import { markupRule, pricesFor } from '../../catalog/customer-prices.ts'
import { priceText, shownConditions, shownPrices, type ShownPrice } from '../../catalog/shown-prices.ts'
import { ownValue } from '../../base/own-value.ts'
import type { AccountRecord } from '../../store/accounts/account-store.ts'
import { pageOf, type Page, type PageRange } from '../../store/page.ts'
import { percent } from './reports.ts'

/** Groups of accounts, and what customers pay. */
export function groupAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  const kind = groupKind(ports)
  return [
    adminRoute('GET /admin/v1/account-groups', async () => {
      const data = (await ports.store.accountGroups.list()).map((group) => wire(AccountGroup, group))
      return { data, total: data.length }
    }),
    postRoute(ports, kind, 'POST /admin/v1/account-groups'),
    ...namedRecordRoutes(ports, kind),
    listRoute(ports, 'GET /admin/v1/customer-prices', async ({ query }, range) =>
      listBody(await customerPrices(ports, query, range), (price) => price),
    ),
  ]
}

/** The refusal of a name that is not empty; spaces around it are ignored. */
function nameTaken(name: string): Error {
  return fieldError('name', 'name_taken', { given: name }, `'${name}' is the name of another group`)
}

/** Groups as records that a client describes. */
function groupKind(ports: AdminPorts): NamedRecords<'/admin/v1/account-groups/:id', GroupRecord, AccountGroupPatch> {
  const { accountGroups } = ports.store
  return {
    path: '/admin/v1/account-groups/:id',
    noun: 'Account group',
    kind: 'account_group',
    event: 'account_group',
    terms: Object.keys(AccountGroupBody.fields),
    get: (id) => accountGroups.get(id),
    shown: (record) => wire(AccountGroup, record),
    update: async (id, decide) => {
      let name = ''
      const after = await accountGroups.update(id, (current) => {
        const patch = decide(current)
        name = patch.name ?? ''
        return patch
      })
      if (after === 'taken') throw nameTaken(name)
      return after
    },
    describe: (_call, read) => {
      const { name, markup } = read()
      const terms = { name: name.trim(), markup: markupText(markup) }
      return {
        change: () => terms,
        create: async (externalId) => {
          const record = { id: `grp_${ports.ids.letters(16)}`, externalId, ...terms, createdAtMs: ports.clock.now() }
          if (!(await accountGroups.create(record))) throw nameTaken(record.name)
          return { record: { ...record, accounts: 0 } }
        },
      }
    },
    patch: (_call, { name, markup }) => {
      const patch = {
        ...(name === undefined ? {} : { name: name.trim() }),
        ...(markup === undefined ? {} : { markup: markupText(markup) }),
      }
      return () => patch
    },
    remove: async (group, guard) => {
      const end = await accountGroups.delete(group.id, (current) => guard(wire(AccountGroup, current)))
      if (end === 'in_use')
        throw reasonError(
          'group_in_use',
          { accounts: group.accounts },
          { says: `Group '${group.name}' has accounts: put them into another group first, or into none` },
        )
      return end !== 'unknown'
    },
    changed: ({ id }) => ports.access.invalidate({ groupId: id }),
  }
}

type PayingCustomer = Pick<CustomerPrice, 'account' | 'account_name' | 'group' | 'rule' | 'markup'>

/** What one account pays for each model, or what each account pays for one model. */
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
  const found = [...ports.catalog.current().models.values()].filter(
    ({ id, name }) => (model === null || id === model) && isFound(text, id, name),
  )
  const document = ports.catalog.shown()
  const entries = new Map(document.models.map((entry) => [entry.id, entry]))
  const { data, ...rest } = pageOf(found, range)
  return { data: data.map((sold) => priceOf(document, customer, sold, entries.get(sold.id))), ...rest }
}

function customerOf(account: AccountRecord, groups: ReadonlyMap<string, GroupRecord>): PayingCustomer {
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

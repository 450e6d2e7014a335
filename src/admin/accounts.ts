import { keyPatchOf, newKey } from '../access/key-terms.ts'
import { keyBody, NOTHING_SPENT } from '../ledger/key-body.ts'
import { serviceLowBalance } from '../ledger/notice.ts'
import { statementOf } from '../ledger/statement.ts'
import { fieldError, reasonError } from '../refusals.ts'
import { dayRange } from '../http/day-range.ts'
import type { Route } from '../http/edge.ts'
import { choiceParameter } from '../query-parameters.ts'
import type { Principal } from '../access/principal.ts'
import { assert } from '../lib/assert.ts'
import { decimalText, microOf, parseDecimal, rubles } from '../money.ts'
import type { AccountPatch, AccountRecord } from '../store/accounts/account-store.ts'
import type { EntryRecord } from '../store/ledger/entry-store.ts'
import type { KeyRecord, KeySpend } from '../store/accounts/key-store.ts'
import type { Judged } from '../kinds/fields/strict-body.ts'
import {
  AccountStatus,
  type Account,
  type AccountBody,
  type Entry,
  type EntryBody,
  type Key,
} from './account-contract.ts'
import {
  actor,
  adminRoute,
  notFound,
  page,
  param,
  recordEvent,
  type AdminBody,
  type AdminCall,
  type AdminReply,
  type AdminPorts,
} from './ports.ts'
import { isoTime } from '../lib/time.ts'

const ID_LETTERS = 16

/** Accounts, their money and their keys. */
export function accountAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  return [
    adminRoute('POST /admin/v1/accounts', (call, read) => createAccount(ports, call, read())),
    adminRoute('GET /admin/v1/accounts', (call) => listAccounts(ports, call)),
    adminRoute('GET /admin/v1/accounts/:id', async (call) => ({
      status: 200,
      body: accountBody(await account(ports, param(call, 'id'))),
    })),
    adminRoute('PATCH /admin/v1/accounts/:id', (call, read) => patchAccount(ports, call, read)),
    adminRoute('POST /admin/v1/accounts/:id/ledger', (call, read) => postEntry(ports, call, read('kind', 'amount'))),
    adminRoute('GET /admin/v1/accounts/:id/ledger', (call) => listEntries(ports, call)),
    adminRoute('GET /admin/v1/accounts/:id/statement', (call) => statement(ports, call)),
    adminRoute('POST /admin/v1/accounts/:id/keys', (call, read) => createKey(ports, call, read)),
    adminRoute('GET /admin/v1/accounts/:id/keys', (call) => listKeys(ports, call)),
    adminRoute('PATCH /admin/v1/keys/:id', (call, read) => patchKey(ports, call, read)),
    adminRoute('DELETE /admin/v1/keys/:id', (call) => deleteKey(ports, call)),
  ]
}

async function account(ports: AdminPorts, id: string): Promise<AccountRecord> {
  const found = await ports.store.accounts.get(id)
  if (found === null) throw notFound('Account', id)
  return found
}

function accountBody(record: AccountRecord): Account {
  return {
    id: record.id,
    name: record.name,
    email: record.email,
    status: record.status,
    default_model: record.defaultModel,
    rate_limit: record.rateLimit,
    allowed_models: record.allowedModels,
    exact_holds: record.exactHolds,
    group: record.groupId,
    markup: record.markup,
    balance: rubles(record.availableMicro + record.heldMicro),
    available: rubles(record.availableMicro),
    reserved: rubles(record.heldMicro),
    created_at: isoTime(record.createdAtMs),
  }
}

async function createAccount(
  ports: AdminPorts,
  call: AdminCall,
  given: AccountBody,
): Promise<AdminReply<'POST /admin/v1/accounts'>> {
  const record = {
    id: `acc_${ports.ids.letters(ID_LETTERS)}`,
    name: given.name,
    email: given.email ?? null,
    defaultModel: given.default_model ?? null,
    rateLimit: given.rate_limit ?? null,
    ...(await priceRule(ports, given)),
    createdAtMs: ports.clock.now(),
  }
  const body = accountBody(await ports.store.accounts.create(record))
  await recordEvent(ports, call, 'account.create', record.id, null, body)
  return { status: 201, body }
}

async function listAccounts(ports: AdminPorts, call: AdminCall): Promise<AdminReply<'GET /admin/v1/accounts'>> {
  const query = call.query.get('query')
  const status = choiceParameter(call.query, 'status', AccountStatus)
  const { data, total } = await ports.store.accounts.list({
    query: query === '' ? null : query,
    status,
    groupId: call.query.get('group'),
    ...page(call),
  })
  return { status: 200, body: { data: data.map(accountBody), total } }
}

async function patchAccount(
  ports: AdminPorts,
  call: AdminCall,
  read: AdminBody<'PATCH /admin/v1/accounts/:id'>,
): Promise<AdminReply<'PATCH /admin/v1/accounts/:id'>> {
  const before = await account(ports, param(call, 'id'))
  const given = read()
  const { name, status, default_model: defaultModel, rate_limit: limit, allowed_models: models } = given
  const patch: AccountPatch = {
    ...(typeof name === 'string' ? { name } : {}),
    ...(typeof status === 'string' ? { status } : {}),
    ...(defaultModel === undefined ? {} : { defaultModel }),
    ...(limit === undefined ? {} : { rateLimit: limit }),
    ...(models === undefined ? {} : { allowedModels: models }),
    ...(typeof given.exact_holds === 'boolean' ? { exactHolds: given.exact_holds } : {}),
    ...(await priceRule(ports, given)),
  }
  const after = await ports.store.accounts.update(before.id, patch)
  if (after === null) throw notFound('Account', before.id)
  ports.access.invalidate({ accountId: before.id })
  await recordEvent(ports, call, 'account.update', before.id, accountBody(before), accountBody(after))
  return { status: 200, body: accountBody(after) }
}

/** The exact text of a decimal that was read from a body. */
export function markupText(given: number | string): string {
  const markup = parseDecimal(String(given))
  assert(markup !== null, 'A markup was read as a decimal.')
  return decimalText(markup)
}

/** The rule of an account's prices in a body; what is absent does not change. */
async function priceRule(
  ports: AdminPorts,
  { group, markup }: Pick<AccountBody, 'group' | 'markup'>,
): Promise<Pick<AccountPatch, 'groupId' | 'markup'>> {
  if (typeof group === 'string' && (await ports.store.accountGroups.get(group)) === null)
    throw fieldError(
      'group',
      'unknown_group',
      { given: group.slice(0, 200) },
      `there is no group '${group.slice(0, 200)}'`,
    )
  return {
    ...(group === undefined ? {} : { groupId: group }),
    ...(markup === undefined ? {} : { markup: markup === null ? null : markupText(markup) }),
  }
}

/** An amount below 0 is for adjustments only. */
function entryAmount(kind: EntryBody['kind'], amount: number | null | undefined): bigint {
  if (amount === undefined || amount === null) throw fieldError('amount', 'required', {}, 'is required')
  const amountMicro = microOf(amount)
  if (kind === 'adjustment' && amountMicro === 0n) throw fieldError('amount', 'not_zero', {}, 'must not be 0')
  if (kind !== 'adjustment' && amountMicro <= 0n) throw fieldError('amount', 'above_zero', {}, 'must be above 0')
  return amountMicro
}

async function postEntry(
  ports: AdminPorts,
  call: AdminCall,
  { kind, amount, reason, reference }: Judged<EntryBody, 'kind' | 'amount'>,
): Promise<AdminReply<'POST /admin/v1/accounts/:id/ledger'>> {
  if (kind === undefined || kind === null)
    throw fieldError('kind', 'required', {}, 'is required, one of topup, refund, adjustment')
  const amountMicro = entryAmount(kind, amount)
  const accountId = param(call, 'id')
  const takenMicro = kind === 'refund' ? amountMicro : -amountMicro
  if (kind !== 'topup' && takenMicro > 0n) await ports.freed(accountId, takenMicro)
  const outcome = await ports.store.entries.post({
    accountId,
    kind,
    amountMicro,
    reason,
    reference,
    actor: actor(ports, call),
    atMs: ports.clock.now(),
    lowBalanceMicro: serviceLowBalance(ports.catalog.current().settings),
  })
  switch (outcome.status) {
    case 'no_account':
      throw notFound('Account', accountId)
    case 'conflict':
      throw reasonError(
        'conflict',
        'reference_taken',
        { reference },
        `The ${kind} reference '${reference}' stands with another amount or account`,
      )
    case 'uncovered':
      throw reasonError('conflict', 'uncovered', {}, `The account's available balance does not cover this ${kind}`)
    case 'existing':
    case 'created': {
      const body = { id: outcome.entry.id, kind, amount: rubles(amountMicro), balance: rubles(outcome.balanceMicro) }
      if (outcome.status === 'existing') return { status: 200, body }
      await recordEvent(ports, call, `ledger.${kind}`, accountId, null, { amount: body.amount, reason, reference })
      return { status: 201, body }
    }
  }
}

/** Amounts are signed by what they did to the account, so that they add up to the balance. */
function entryBody(entry: EntryRecord): Entry {
  return {
    id: entry.id,
    kind: entry.kind,
    amount: rubles(entry.amountMicro),
    reference: entry.reference,
    reason: entry.reason,
    actor: entry.actor,
    created_at: isoTime(entry.createdAtMs),
  }
}

async function listEntries(
  ports: AdminPorts,
  call: AdminCall,
): Promise<AdminReply<'GET /admin/v1/accounts/:id/ledger'>> {
  const { id } = await account(ports, param(call, 'id'))
  const { limit, offset } = page(call)
  const { data, total } = await ports.store.entries.list(id, limit, offset)
  return { status: 200, body: { data: data.map(entryBody), total } }
}

async function statement(
  ports: AdminPorts,
  call: AdminCall,
): Promise<AdminReply<'GET /admin/v1/accounts/:id/statement'>> {
  const { timezone } = ports.catalog.current().settings
  const range = { ...dayRange(call.query, ports.periods().day), timezone, nowMs: ports.clock.now() }
  return {
    status: 200,
    body: await statementOf(ports.store.statements, await account(ports, param(call, 'id')), range),
  }
}

function shown(ports: AdminPorts, key: KeyRecord, spend: KeySpend): Key {
  return keyBody(key, spend, ports.periods(), {})
}

async function createKey(
  ports: AdminPorts,
  call: AdminCall,
  read: AdminBody<'POST /admin/v1/accounts/:id/keys'>,
): Promise<AdminReply<'POST /admin/v1/accounts/:id/keys'>> {
  const { id: accountId } = await account(ports, param(call, 'id'))
  const { key, record } = newKey(read(), accountId, ports.ids, ports.clock.now())
  const body = shown(ports, await ports.store.keys.create(record), NOTHING_SPENT)
  await recordEvent(ports, call, 'key.create', record.id, null, body)
  return { status: 201, body: { ...body, key } }
}

async function listKeys(ports: AdminPorts, call: AdminCall): Promise<AdminReply<'GET /admin/v1/accounts/:id/keys'>> {
  const { id } = await account(ports, param(call, 'id'))
  const keys = await ports.store.keys.list(id, ports.periods())
  const { limit, offset } = page(call)
  return {
    status: 200,
    body: {
      data: keys.slice(offset, offset + limit).map(({ key, spend }) => shown(ports, key, spend)),
      total: keys.length,
    },
  }
}

async function patchKey(
  ports: AdminPorts,
  call: AdminCall,
  read: AdminBody<'PATCH /admin/v1/keys/:id'>,
): Promise<AdminReply<'PATCH /admin/v1/keys/:id'>> {
  const id = param(call, 'id')
  const before = await ports.store.keys.get(id, ports.periods())
  if (before === null) throw notFound('Key', id)
  await ports.store.keys.update(id, keyPatchOf(read(), before.key.limitMicro), ports.periods())
  ports.access.invalidate({ keyId: id })
  const after = await ports.store.keys.get(id, ports.periods())
  if (after === null) throw notFound('Key', id)
  const body = shown(ports, after.key, after.spend)
  await recordEvent(ports, call, 'key.update', id, shown(ports, before.key, before.spend), body)
  return { status: 200, body }
}

async function deleteKey(ports: AdminPorts, call: AdminCall): Promise<AdminReply<'DELETE /admin/v1/keys/:id'>> {
  const id = param(call, 'id')
  const before = await ports.store.keys.get(id, ports.periods())
  if (before === null || !(await ports.store.keys.delete(id))) throw notFound('Key', id)
  ports.access.invalidate({ keyId: id })
  await recordEvent(ports, call, 'key.delete', id, shown(ports, before.key, before.spend), null)
  return { status: 200, body: { id, deleted: true } }
}

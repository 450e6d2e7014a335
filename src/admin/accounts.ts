import { generateKey, digestOf, labelOf } from '../access/api-key.ts'
import type { RateLimit } from '../catalog/catalog.ts'
import { limitRemaining } from '../ledger/limit-remaining.ts'
import { statementOf } from '../ledger/statement.ts'
import { fieldError, reasonError } from '../errors.ts'
import { dayRange } from '../http/day-range.ts'
import type { Reply, Route } from '../http/edge.ts'
import type { Principal } from '../access/principal.ts'
import { rubles } from '../money.ts'
import type { AccountPatch, AccountRecord, EntryRecord, KeyPatch, KeyRecord, KeySpend } from '../store/store.ts'
import { BodyFields } from '../kinds/strict-body.ts'
import { actor, adminRoute, notFound, page, param, recordEvent, type AdminCall, type AdminPorts } from './ports.ts'

const ID_LETTERS = 16
const RESETS = ['daily', 'weekly', 'monthly'] as const
const STATUSES = ['active', 'deactivated', 'locked'] as const
const ENTRY_KINDS = ['topup', 'refund', 'adjustment'] as const

/** Accounts, their money and their keys (operator.md 4). */
export function accountAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  return [
    adminRoute('POST', 'accounts', (call) => createAccount(ports, call)),
    adminRoute('GET', 'accounts', (call) => listAccounts(ports, call)),
    adminRoute('GET', 'accounts/:id', async (call) => ({
      status: 200,
      body: accountBody(await account(ports, param(call, 'id'))),
    })),
    adminRoute('PATCH', 'accounts/:id', (call) => patchAccount(ports, call)),
    adminRoute('POST', 'accounts/:id/ledger', (call) => postEntry(ports, call)),
    adminRoute('GET', 'accounts/:id/ledger', (call) => listEntries(ports, call)),
    adminRoute('GET', 'accounts/:id/statement', (call) => statement(ports, call)),
    adminRoute('POST', 'accounts/:id/keys', (call) => createKey(ports, call)),
    adminRoute('GET', 'accounts/:id/keys', (call) => listKeys(ports, call)),
    adminRoute('PATCH', 'keys/:id', (call) => patchKey(ports, call)),
    adminRoute('DELETE', 'keys/:id', (call) => deleteKey(ports, call)),
  ]
}

async function account(ports: AdminPorts, id: string): Promise<AccountRecord> {
  const found = await ports.store.accounts.get(id)
  if (found === null) throw notFound('Account', id)
  return found
}

function accountBody(record: AccountRecord): Record<string, unknown> {
  return {
    id: record.id,
    name: record.name,
    email: record.email,
    status: record.status,
    default_model: record.defaultModel,
    rate_limit: record.rateLimit,
    allowed_models: record.allowedModels,
    balance: rubles(record.availableMicro + record.heldMicro),
    available: rubles(record.availableMicro),
    reserved: rubles(record.heldMicro),
    created_at: new Date(record.createdAtMs).toISOString(),
  }
}

function rateLimit(fields: BodyFields): RateLimit | null | undefined {
  const given = fields.object('rate_limit')
  if (given === undefined || given === null) return given
  const limit = { requests: given.whole('requests', 1, 100_000), window: given.whole('window', 1, 86_400) }
  given.done()
  return limit
}

async function createAccount(ports: AdminPorts, call: AdminCall): Promise<Reply> {
  const fields = new BodyFields(call.json)
  const record = {
    id: `acc_${ports.ids.letters(ID_LETTERS)}`,
    name: fields.requiredText('name'),
    email: fields.text('email') ?? null,
    defaultModel: fields.text('default_model') ?? null,
    rateLimit: rateLimit(fields) ?? null,
    createdAtMs: ports.clock.now(),
  }
  fields.done()
  const body = accountBody(await ports.store.accounts.create(record))
  await recordEvent(ports, call, 'account.create', record.id, null, body)
  return { status: 201, body }
}

async function listAccounts(ports: AdminPorts, call: AdminCall): Promise<Reply> {
  const query = call.query.get('query')
  const status = call.query.get('status')
  const known = STATUSES.find((name) => name === status) ?? null
  if (status !== null && known === null)
    throw fieldError('status', 'one_of', { allowed: STATUSES.join(', ') }, `must be one of ${STATUSES.join(', ')}`)
  const { data, total } = await ports.store.accounts.list({
    query: query === '' ? null : query,
    status: known,
    ...page(call),
  })
  return { status: 200, body: { data: data.map(accountBody), total } }
}

async function patchAccount(ports: AdminPorts, call: AdminCall): Promise<Reply> {
  const before = await account(ports, param(call, 'id'))
  const fields = new BodyFields(call.json)
  const patch: { -readonly [K in keyof AccountPatch]: AccountPatch[K] } = {}
  const name = fields.text('name')
  if (name !== undefined && name !== null) patch.name = name
  const status = fields.oneOf('status', STATUSES)
  if (status !== undefined && status !== null) patch.status = status
  const defaultModel = fields.text('default_model')
  if (defaultModel !== undefined) patch.defaultModel = defaultModel
  const limit = rateLimit(fields)
  if (limit !== undefined) patch.rateLimit = limit
  const models = fields.texts('allowed_models')
  if (models !== undefined) patch.allowedModels = models
  fields.done()
  const after = await ports.store.accounts.update(before.id, patch)
  if (after === null) throw notFound('Account', before.id)
  ports.access.invalidate({ accountId: before.id })
  await recordEvent(ports, call, 'account.update', before.id, accountBody(before), accountBody(after))
  return { status: 200, body: accountBody(after) }
}

async function postEntry(ports: AdminPorts, call: AdminCall): Promise<Reply> {
  const fields = new BodyFields(call.json)
  const kind = fields.oneOf('kind', ENTRY_KINDS)
  const amountMicro = fields.amount('amount')
  const reason = fields.requiredText('reason')
  const reference = fields.requiredText('reference', 200)
  fields.done()
  if (kind === undefined || kind === null)
    throw fieldError('kind', 'required', {}, 'is required, one of topup, refund, adjustment')
  if (amountMicro === undefined || amountMicro === null) throw fieldError('amount', 'required', {}, 'is required')
  if (amountMicro === 0n || (kind !== 'adjustment' && amountMicro < 0n))
    throw kind === 'adjustment'
      ? fieldError('amount', 'not_zero', {}, 'must not be 0')
      : fieldError('amount', 'above_zero', {}, 'must be above 0')
  const accountId = param(call, 'id')
  const outcome = await ports.store.entries.post({
    accountId,
    kind,
    amountMicro,
    reason,
    reference,
    actor: actor(ports, call),
    atMs: ports.clock.now(),
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

/** Signed as it changed the account, so that the amounts add up to the balance. */
function entryBody(entry: EntryRecord): Record<string, unknown> {
  return {
    id: entry.id,
    kind: entry.kind,
    amount: rubles(entry.amountMicro),
    reference: entry.reference,
    reason: entry.reason,
    actor: entry.actor,
    created_at: new Date(entry.createdAtMs).toISOString(),
  }
}

async function listEntries(ports: AdminPorts, call: AdminCall): Promise<Reply> {
  const { id } = await account(ports, param(call, 'id'))
  const { limit, offset } = page(call)
  const { data, total } = await ports.store.entries.list(id, limit, offset)
  return { status: 200, body: { data: data.map(entryBody), total } }
}

async function statement(ports: AdminPorts, call: AdminCall): Promise<Reply> {
  const { timezone } = ports.catalog.current().settings
  const range = { ...dayRange(call.query, ports.periods().day), timezone, nowMs: ports.clock.now() }
  return {
    status: 200,
    body: await statementOf(ports.store.statements, await account(ports, param(call, 'id')), range),
  }
}

function keyBody(ports: AdminPorts, key: KeyRecord, spend: KeySpend): Record<string, unknown> {
  const remaining = limitRemaining(key, spend, ports.periods())
  return {
    id: key.id,
    name: key.name,
    label: key.label,
    disabled: key.disabled,
    limit: key.limitMicro === null ? null : rubles(key.limitMicro),
    limit_reset: key.limitReset,
    limit_remaining: remaining === null ? null : rubles(remaining),
    usage: rubles(spend.totalMicro),
    usage_daily: rubles(spend.dayMicro),
    usage_weekly: rubles(spend.weekMicro),
    usage_monthly: rubles(spend.monthMicro),
    expires_at: key.expiresAtMs === null ? null : new Date(key.expiresAtMs).toISOString(),
    allowed_models: key.allowedModels,
    created_at: new Date(key.createdAtMs).toISOString(),
    last_used_at: key.lastUsedAtMs === null ? null : new Date(key.lastUsedAtMs).toISOString(),
  }
}

const NOTHING_SPENT: KeySpend = { totalMicro: 0n, dayMicro: 0n, weekMicro: 0n, monthMicro: 0n, heldMicro: 0n }

async function createKey(ports: AdminPorts, call: AdminCall): Promise<Reply> {
  const { id: accountId } = await account(ports, param(call, 'id'))
  const fields = new BodyFields(call.json)
  const key = generateKey(ports.ids)
  const limitMicro = limitAmount(fields) ?? null
  const record = {
    id: `key_${ports.ids.letters(ID_LETTERS)}`,
    accountId,
    name: fields.requiredText('name'),
    digest: digestOf(key),
    label: labelOf(key),
    limitMicro,
    limitReset: fields.oneOf('limit_reset', RESETS) ?? null,
    expiresAtMs: fields.time('expires_at') ?? null,
    allowedModels: fields.texts('allowed_models') ?? null,
    createdAtMs: ports.clock.now(),
  }
  fields.done()
  if (record.limitReset !== null && limitMicro === null)
    throw fieldError('limit_reset', 'needs_limit', {}, 'needs a limit')
  const body = keyBody(ports, await ports.store.keys.create(record), NOTHING_SPENT)
  await recordEvent(ports, call, 'key.create', record.id, null, body)
  return { status: 201, body: { ...body, key } }
}

function limitAmount(fields: BodyFields): bigint | null | undefined {
  const limit = fields.amount('limit')
  if (typeof limit === 'bigint' && limit < 0n)
    throw fieldError('limit', 'not_negative', {}, 'must be 0 or more, or null for none')
  return limit
}

async function listKeys(ports: AdminPorts, call: AdminCall): Promise<Reply> {
  const { id } = await account(ports, param(call, 'id'))
  const keys = await ports.store.keys.list(id, ports.periods())
  const { limit, offset } = page(call)
  return {
    status: 200,
    body: {
      data: keys.slice(offset, offset + limit).map(({ key, spend }) => keyBody(ports, key, spend)),
      total: keys.length,
    },
  }
}

async function patchKey(ports: AdminPorts, call: AdminCall): Promise<Reply> {
  const id = param(call, 'id')
  const before = await ports.store.keys.get(id, ports.periods())
  if (before === null) throw notFound('Key', id)
  const fields = new BodyFields(call.json)
  const patch: { -readonly [K in keyof KeyPatch]: KeyPatch[K] } = {}
  const name = fields.text('name')
  if (name !== undefined && name !== null) patch.name = name
  const disabled = fields.flag('disabled')
  if (disabled !== undefined) patch.disabled = disabled
  const limitMicro = limitAmount(fields)
  if (limitMicro !== undefined) patch.limitMicro = limitMicro
  const limitReset = fields.oneOf('limit_reset', RESETS)
  if (limitReset !== undefined) patch.limitReset = limitReset
  const expiresAtMs = fields.time('expires_at')
  if (expiresAtMs !== undefined) patch.expiresAtMs = expiresAtMs
  const models = fields.texts('allowed_models')
  if (models !== undefined) patch.allowedModels = models
  fields.done()
  const limitAfter = limitMicro === undefined ? before.key.limitMicro : limitMicro
  if (limitAfter === null && typeof limitReset === 'string')
    throw fieldError('limit_reset', 'needs_limit', {}, 'needs a limit')
  // A key without a limit has no period that could begin anew.
  if (limitAfter === null) patch.limitReset = null
  await ports.store.keys.update(id, patch, ports.periods())
  ports.access.invalidate({ keyId: id })
  const after = await ports.store.keys.get(id, ports.periods())
  if (after === null) throw notFound('Key', id)
  const body = keyBody(ports, after.key, after.spend)
  await recordEvent(ports, call, 'key.update', id, keyBody(ports, before.key, before.spend), body)
  return { status: 200, body }
}

async function deleteKey(ports: AdminPorts, call: AdminCall): Promise<Reply> {
  const id = param(call, 'id')
  const before = await ports.store.keys.get(id, ports.periods())
  if (before === null || !(await ports.store.keys.delete(id))) throw notFound('Key', id)
  ports.access.invalidate({ keyId: id })
  await recordEvent(ports, call, 'key.delete', id, keyBody(ports, before.key, before.spend), null)
  return { status: 200, body: { id, deleted: true } }
}

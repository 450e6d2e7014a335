import { accountLimit } from '../records/account-limit-body.ts'
import { serviceLowBalance } from '../../ledger/notice.ts'
import { statementOf } from '../records/statement.ts'
import { fieldError, reasonError } from '../../base/refusals.ts'
import { dayRange } from '../../http/day-range.ts'
import type { Route } from '../../http/edge.ts'
import { choiceParameter } from '../../base/query-parameters.ts'
import { limitPatchOf } from '../../access/key-terms.ts'
import type { Principal } from '../../access/principal.ts'
import { assert } from '../../base/assert.ts'
import { decimalText, microOf, parseDecimal, rubles } from '../../base/money.ts'
import type { AccountPatch, AccountRecord } from '../../store/accounts/account-store.ts'
import type { EntryRecord } from '../../store/ledger/entry-store.ts'
import type { Judged } from '../../kinds/fields/strict-body.ts'
import {
  AccountPut,
  AccountSort,
  AccountStatus,
  type Account,
  type AccountBody,
  type Entry,
  type EntryBody,
} from './account-contract.ts'
import { listBody, listRoute } from '../../admin/list-route.ts'
import {
  actor,
  adminRoute,
  notFound,
  param,
  recordEvent,
  type AdminBody,
  type AdminCall,
  type AdminReply,
  type AdminPorts,
} from '../../admin/ports.ts'
import {
  changedRecord,
  externalIdPatch,
  patchRoute,
  putNamed,
  recordId,
  recordRoutes,
  type Guard,
  type RecordKind,
  type Written,
} from '../../admin/records.ts'
import { isoTime } from '../../base/time.ts'

const ID_LETTERS = 16
const REFERENCE_CHARS_MAX = 200

/** Accounts and their money. */
export function accountAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  const kind = accountKind(ports)
  return [
    adminRoute('POST /admin/v1/accounts', (call, read) => createAccount(ports, call, read())),
    listRoute(ports, 'GET /admin/v1/accounts', async ({ query }, range) =>
      listBody(
        await ports.store.accounts.list({
          query: query.get('query') || null,
          status: choiceParameter(query, 'status', AccountStatus),
          groupId: query.get('group'),
          order: choiceParameter(query, 'sort', AccountSort),
          ...range,
        }),
        (record) => accountBody(ports, record),
      ),
    ),
    ...recordRoutes(ports, kind),
    patchRoute(ports, kind, (_call, id, read, guard) => patchAccount(ports, id, read, guard)),
    adminRoute('POST /admin/v1/accounts/:id/ledger', async (call, read) => {
      const { status, kind: booked, amount, entry, balanceMicro } = await postEntry(ports, call, read('kind', 'amount'))
      return { status, body: { id: entry.id, kind: booked, amount, balance: rubles(balanceMicro) } }
    }),
    listRoute(ports, 'GET /admin/v1/accounts/:id/ledger', async (call, range) => {
      const { id } = await account(ports, param(call, 'id'))
      return listBody(await ports.store.entries.list(id, range), (entry) => ({
        ...entryBody(entry),
        balance: entry.balanceMicro === null ? null : rubles(entry.balanceMicro),
      }))
    }),
    adminRoute('PUT /admin/v1/accounts/:id/topups/:reference', async (call, read) => {
      const { amount, reason } = read()
      const reference = param(call, 'reference')
      if (reference.trim() === '' || reference.length > REFERENCE_CHARS_MAX)
        throw fieldError(
          'reference',
          'text_length',
          { least: 1, most: REFERENCE_CHARS_MAX },
          `must be a text of 1 to ${REFERENCE_CHARS_MAX} characters`,
        )
      const { status, entry } = await postEntry(ports, call, { kind: 'topup', amount, reason, reference })
      return { status, body: entryBody(entry) }
    }),
    adminRoute('GET /admin/v1/accounts/:id/topups/:reference', async (call) => {
      const { id } = await account(ports, param(call, 'id'))
      const reference = param(call, 'reference')
      const entry = await ports.store.entries.topUp(id, reference)
      if (entry === null) throw notFound('Top-up', reference)
      return { status: 200, body: entryBody(entry) }
    }),
    adminRoute('GET /admin/v1/accounts/:id/statement', (call) => statement(ports, call)),
  ]
}

/** By its id or its external id. */
async function named(ports: AdminPorts, given: string): Promise<AccountRecord | null> {
  const id = await recordId(ports, 'account', given)
  return id === null ? null : ports.store.accounts.get(id)
}

/** The same; throws where there is none. */
export async function account(ports: AdminPorts, given: string): Promise<AccountRecord> {
  const found = await named(ports, given)
  if (found === null) throw notFound('Account', given)
  return found
}

function accountBody(ports: AdminPorts, record: AccountRecord): Account {
  const { timezone } = ports.catalog.current().settings
  return {
    id: record.id,
    external_id: record.externalId,
    name: record.name,
    email: record.email,
    status: record.status,
    default_model: record.defaultModel,
    rate_limit: record.rateLimit,
    allowed_models: record.allowedModels,
    exact_holds: record.exactHolds,
    group: record.groupId,
    markup: record.markup,
    ...accountLimit(record, { periods: ports.periods(), atMs: ports.clock.now(), timezone }),
    balance: rubles(record.availableMicro + record.heldMicro),
    available: rubles(record.availableMicro),
    reserved: rubles(record.heldMicro),
    created_at: isoTime(record.createdAtMs),
  }
}

function newId({ ids }: AdminPorts): string {
  return `acc_${ids.letters(ID_LETTERS)}`
}

async function createAccount(
  ports: AdminPorts,
  call: AdminCall,
  given: AccountBody,
): Promise<AdminReply<'POST /admin/v1/accounts'>> {
  const record = {
    id: newId(ports),
    name: given.name,
    email: given.email ?? null,
    defaultModel: given.default_model ?? null,
    rateLimit: given.rate_limit ?? null,
    ...(await priceRule(ports, given)),
    ...limitPatchOf(given, null),
    createdAtMs: ports.clock.now(),
  }
  const body = accountBody(ports, await ports.store.accounts.create(record))
  await recordEvent(ports, call, 'account.create', record.id, null, body)
  return { status: 201, body }
}

/** Accounts as records that a client describes. */
function accountKind(ports: AdminPorts): RecordKind<'/admin/v1/accounts/:id'> {
  const { accounts } = ports.store
  return {
    path: '/admin/v1/accounts/:id',
    noun: 'Account',
    event: 'account',
    terms: Object.keys(AccountPut.fields),
    show: async (given) => {
      const found = await named(ports, given)
      return found === null ? null : accountBody(ports, found)
    },
    put: async (_call, given, read, guard) => {
      const { status, group = null, markup = null, limit = null, limit_reset: reset = null, ...terms } = read()
      const patch = {
        name: terms.name,
        email: terms.email ?? null,
        defaultModel: terms.default_model ?? null,
        rateLimit: terms.rate_limit ?? null,
        allowedModels: terms.allowed_models ?? null,
        exactHolds: terms.exact_holds ?? false,
        ...(await priceRule(ports, { group, markup })),
        ...limitPatchOf({ limit, limit_reset: reset }, null),
        ...(typeof status === 'string' ? { status } : {}),
      }
      return putNamed(
        ports,
        { kind: 'account', noun: 'Account', given, guard },
        (id) => changeAccount(ports, id, () => patch, guard),
        async (externalId) => {
          const id = newId(ports)
          const made = await accounts.create({ ...patch, id, externalId, createdAtMs: ports.clock.now() })
          return { id, before: null, after: accountBody(ports, made), changed: true }
        },
      )
    },
    remove: async (_call, given, guard) => {
      const found = await named(ports, given)
      if (found === null || (found.status === 'deactivated' && found.externalId === null)) return null
      const closed = await changeAccount(
        ports,
        found.id,
        () => ({ status: 'deactivated', externalId: null, groupId: null }),
        guard,
      )
      return closed?.before ? { id: closed.id, before: closed.before } : null
    },
  }
}

async function patchAccount(
  ports: AdminPorts,
  given: string,
  read: AdminBody<'PATCH /admin/v1/accounts/:id'>,
  guard: Guard,
): Promise<Written<Account> | null> {
  const { name, status, external_id: externalId, ...rest } = read()
  const { default_model: defaultModel, rate_limit: rateLimit, allowed_models: allowedModels, exact_holds: exact } = rest
  const id = await recordId(ports, 'account', given)
  const patch = {
    ...(typeof name === 'string' ? { name } : {}),
    ...(typeof status === 'string' ? { status } : {}),
    ...(typeof exact === 'boolean' ? { exactHolds: exact } : {}),
    ...externalIdPatch(externalId),
    ...(defaultModel === undefined ? {} : { defaultModel }),
    ...(rateLimit === undefined ? {} : { rateLimit }),
    ...(await priceRule(ports, rest)),
    ...(allowedModels === undefined ? {} : { allowedModels }),
  }
  const decided = (current: AccountRecord): AccountPatch => ({ ...patch, ...limitPatchOf(rest, current.limitMicro) })
  return id === null ? null : changeAccount(ports, id, decided, guard)
}

async function changeAccount(
  ports: AdminPorts,
  id: string,
  patchOf: (current: AccountRecord) => AccountPatch,
  guard: Guard,
): Promise<Written<Account> | null> {
  const written = await changedRecord<AccountRecord, AccountPatch, Account>(
    { id, guard, shown: (record) => accountBody(ports, record) },
    (decide) => ports.store.accounts.update(id, decide, ports.periods()),
    patchOf,
  )
  if (written?.changed === true) ports.access.invalidate({ accountId: id })
  return written
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
  const groupId = typeof group === 'string' ? await recordId(ports, 'account_group', group) : group
  if (typeof group === 'string' && (groupId === null || (await ports.store.accountGroups.get(groupId ?? '')) === null))
    throw fieldError(
      'group',
      'unknown_group',
      { given: group.slice(0, 200) },
      `there is no group '${group.slice(0, 200)}'`,
    )
  return {
    ...(groupId === undefined ? {} : { groupId }),
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

interface Booked {
  /** 200 = it was booked before. */
  readonly status: 200 | 201
  readonly kind: EntryBody['kind']
  /** As it was given, RUB. */
  readonly amount: number
  readonly entry: EntryRecord
  readonly balanceMicro: bigint
}

async function postEntry(
  ports: AdminPorts,
  call: AdminCall,
  { kind, amount, reason, reference }: Judged<EntryBody, 'kind' | 'amount'>,
): Promise<Booked> {
  if (kind === undefined || kind === null)
    throw fieldError('kind', 'required', {}, 'is required, one of topup, refund, adjustment')
  const amountMicro = entryAmount(kind, amount)
  const accountId = (await recordId(ports, 'account', param(call, 'id'))) ?? ''
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
      throw notFound('Account', param(call, 'id'))
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
      const booked = { kind, amount: rubles(amountMicro), entry: outcome.entry, balanceMicro: outcome.balanceMicro }
      if (outcome.status === 'existing') return { ...booked, status: 200 }
      await recordEvent(ports, call, `ledger.${kind}`, accountId, null, { amount: booked.amount, reason, reference })
      return { ...booked, status: 201 }
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

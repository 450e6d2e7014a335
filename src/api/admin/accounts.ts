import {
  type KeyTerms,
  OPERATOR_KEYS_MAX,
  keyPatchOf,
  limitPatchOf,
  madeKey,
  newKey,
  newSecret,
} from '../../access/key-terms.ts'
import type { Principal } from '../../access/principal.ts'
import { assert } from '../../base/assert.ts'
import { decimalText, microOf, parseDecimal, rubles } from '../../base/money.ts'
import { choiceParameter, dayRange } from '../../base/query-parameters.ts'
import { fieldError, reasonError } from '../../base/refusals.ts'
import { wire } from '../../base/wire-route.ts'
import type { Route } from '../../http/edge.ts'
import type { Judged } from '../../kinds/fields/strict-body.ts'
import { serviceLowBalance } from '../../ledger/notice.ts'
import { startOfDay } from '../../ledger/period.ts'
import type { AccountPatch, AccountRecord } from '../../store/accounts/account-store.ts'
import type { KeyPatch, KeyRecord, NamedKey } from '../../store/accounts/key-store.ts'
import type { EntryRecord } from '../../store/ledger/entry-store.ts'
import { covers, ROLE_SCOPES } from '../../tables/scopes.ts'
import { NOTHING_SPENT, accountLimit, keyBody } from '../records/limits-body.ts'
import { statementOf } from '../records/statement.ts'
import { ledgerFilter } from '../cabinet/summary.ts'
import {
  Account,
  type AccountBody,
  AccountNote,
  AccountPut,
  AccountSort,
  AccountStatus,
  Entry,
  type EntryBody,
  type Key,
  KeyPut,
  LedgerEntry,
} from './account-contract.ts'
import {
  type AdminAnswer,
  type AdminBody,
  type AdminCall,
  type AdminPorts,
  actor,
  adminReply,
  adminRoute,
  listRoute,
  notFound,
  param,
  recordChange,
} from './ports.ts'
import { listBody } from '../records/list-file.ts'
import { type NamedRecords, changedNamed, findNamed, namedRecordRoutes, postRoute, recordId } from './records.ts'

const ID_LETTERS = 16
const REFERENCE_CHARS_MAX = 200

/** Accounts and their money. */
export function accountAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  const kind = accountKind(ports)
  return [
    postRoute(ports, kind, 'POST /admin/v1/accounts'),
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
    ...namedRecordRoutes(ports, kind),
    adminReply('POST /admin/v1/accounts/:id/ledger', async (call, read) => {
      const { status, kind: booked, amount, entry, balanceMicro } = await postEntry(ports, call, read('kind', 'amount'))
      return { status, body: { id: entry.id, kind: booked, amount, balance: rubles(balanceMicro) } }
    }),
    listRoute(ports, 'GET /admin/v1/accounts/:id/ledger', async (call, range) => {
      const { id } = await accountNamed(ports, param(call, 'id'))
      const page = await ports.store.entries.list(id, range, ledgerFilter(call.query))
      const payments = await ports.store.payments.ofEntries(id, page.data)
      return listBody(page, (entry) => wire(LedgerEntry, entry, { payment: payments.get(entry.reference) ?? null }))
    }),
    adminReply('PUT /admin/v1/accounts/:id/topups/:reference', async (call, read) => {
      const { amount, reason } = read()
      const reference = param(call, 'reference')
      if (reference.trim() === '' || reference.length > REFERENCE_CHARS_MAX)
        throw fieldError('reference', 'text_length', { least: 1, most: REFERENCE_CHARS_MAX })
      const { status, entry } = await postEntry(ports, call, { kind: 'topup', amount, reason, reference })
      return { status, body: wire(Entry, entry) }
    }),
    adminRoute('GET /admin/v1/accounts/:id/topups/:reference', async (call) => {
      const { id } = await accountNamed(ports, param(call, 'id'))
      const reference = param(call, 'reference')
      const entry = await ports.store.entries.booked(id, 'topup', reference)
      if (entry === null) throw notFound('Top-up', reference)
      return wire(Entry, entry)
    }),
    adminRoute('GET /admin/v1/accounts/:id/statement', (call) => statement(ports, call)),
    ...noteRoutes(ports),
  ]
}

/** Operators' notes on accounts. The audit log has who wrote and deleted them, but not their texts, which it would keep. */
function noteRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  const { accountNotes } = ports.store
  return [
    listRoute(ports, 'GET /admin/v1/accounts/:id/notes', async (call, range) => {
      const { id } = await accountNamed(ports, param(call, 'id'))
      return listBody(await accountNotes.list(id, range), (note) => wire(AccountNote, note))
    }),
    adminRoute('POST /admin/v1/accounts/:id/notes', async (call, read) => {
      const { id: accountId, name } = await accountNamed(ports, param(call, 'id'))
      const note = {
        id: `note_${ports.ids.letters(ID_LETTERS)}`,
        accountId,
        author: actor(ports, call),
        text: read().text,
        createdAtMs: ports.clock.now(),
      }
      await accountNotes.add(note)
      await recordChange(ports, call, 'account.note', accountId, null, { name, note: note.id })
      return wire(AccountNote, note)
    }),
    adminRoute('DELETE /admin/v1/accounts/:id/notes/:note', async (call) => {
      const { id: accountId, name } = await accountNamed(ports, param(call, 'id'))
      const id = param(call, 'note')
      const isOwner = covers(ports.access.scopesOf(call.request), ROLE_SCOPES.owner)
      const author = await accountNotes.remove({ id, accountId, author: isOwner ? null : actor(ports, call) })
      if (author === null) throw notFound(isOwner ? 'Note' : 'Note of your own', id)
      await recordChange(ports, call, 'account.note_delete', accountId, { name, note: id, author }, null)
      return { id, deleted: true }
    }),
  ]
}

/** The account by its id or its external id; throws if there is none. */
export async function accountNamed(ports: AdminPorts, given: string): Promise<AccountRecord> {
  const found = await findNamed(ports, { kind: 'account', get: (id) => ports.store.accounts.get(id) }, given)
  if (found === null) throw notFound('Account', given)
  return found
}

/** Accounts as records that a client describes. */
function accountKind(ports: AdminPorts): NamedRecords<'/admin/v1/accounts/:id', AccountRecord, AccountPatch> {
  const { accounts, files } = ports.store
  const kind: NamedRecords<'/admin/v1/accounts/:id', AccountRecord, AccountPatch> = {
    path: '/admin/v1/accounts/:id',
    noun: 'Account',
    kind: 'account',
    event: 'account',
    terms: Object.keys(AccountPut.fields),
    get: (id) => accounts.get(id),
    shown: (record) => accountBody(ports, record),
    update: (id, decide) => accounts.update(id, decide, ports.periods()),
    describe: async (_call, read) => {
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
      return {
        change: () => patch,
        create: async (externalId) => {
          const id = `acc_${ports.ids.letters(ID_LETTERS)}`
          return { record: await accounts.create({ ...patch, id, externalId, createdAtMs: ports.clock.now() }) }
        },
      }
    },
    patch: async (_call, { name, email, status, exact_holds: exactHolds, ...terms }) => {
      const { default_model: defaultModel, rate_limit: rateLimit, allowed_models: allowedModels } = terms
      const patch = {
        ...(typeof name === 'string' ? { name } : {}),
        ...(email === undefined ? {} : { email }),
        ...(typeof status === 'string' ? { status } : {}),
        ...(typeof exactHolds === 'boolean' ? { exactHolds } : {}),
        ...(defaultModel === undefined ? {} : { defaultModel }),
        ...(rateLimit === undefined ? {} : { rateLimit }),
        ...(await priceRule(ports, terms)),
        ...(allowedModels === undefined ? {} : { allowedModels }),
      }
      return (current) => ({ ...patch, ...limitPatchOf(terms, current.limitMicro) })
    },
    remove: async ({ id, status, externalId }, guard) => {
      if (status === 'deactivated' && externalId === null) return false
      const closed = { status: 'deactivated', externalId: null, groupId: null } as const
      return (await changedNamed(kind, id, guard, () => closed)) !== null
    },
    changed: async ({ id, before, after }) => {
      ports.access.invalidate({ accountId: id })
      // If this fails, the sweep of expired rows removes the rest.
      if (after.status === 'deactivated' && before?.status !== 'deactivated')
        await files.removeExpired(ports.clock.now()).catch(() => undefined)
    },
  }
  return kind
}

function accountBody(ports: AdminPorts, record: AccountRecord): Account {
  const { timezone } = ports.catalog.current().settings
  return wire(Account, record, {
    group: record.groupId,
    ...accountLimit(record, { periods: ports.periods(), atMs: ports.clock.now(), timezone }),
    balance: rubles(record.availableMicro + record.heldMicro),
    reserved: rubles(record.heldMicro),
  })
}

/** The exact text of a decimal that was read from a body. */
export function markupText(given: number | string): string {
  const markup = parseDecimal(String(given))
  assert(markup !== null, 'A markup was read as a decimal.')
  return decimalText(markup)
}

/** The rule of an account's prices that a body gives; fields that are absent do not change. */
async function priceRule(
  ports: AdminPorts,
  { group, markup }: Pick<AccountBody, 'group' | 'markup'>,
): Promise<Pick<AccountPatch, 'groupId' | 'markup'>> {
  const groupId = typeof group === 'string' ? await recordId(ports, 'account_group', group) : group
  if (typeof group === 'string' && (groupId === null || (await ports.store.accountGroups.get(groupId ?? '')) === null))
    throw fieldError('group', 'unknown_group', { given: group.slice(0, 200) })
  return {
    ...(groupId === undefined ? {} : { groupId }),
    ...(markup === undefined ? {} : { markup: markup === null ? null : markupText(markup) }),
  }
}

/** An amount below 0 is for adjustments only. */
function entryAmount(kind: EntryBody['kind'], amount: number | null | undefined): bigint {
  if (amount === undefined || amount === null) throw fieldError('amount', 'required')
  const amountMicro = microOf(amount)
  if (kind === 'adjustment' && amountMicro === 0n) throw fieldError('amount', 'not_zero')
  if (kind !== 'adjustment' && amountMicro <= 0n) throw fieldError('amount', 'above_zero')
  return amountMicro
}

interface Booked {
  /** 200 = the entry was booked before. */
  readonly status: 200 | 201
  readonly kind: EntryBody['kind']
  /** The amount as it was given, RUB. */
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
        'reference_taken',
        { reference },
        { says: `The ${kind} reference '${reference}' stands with another amount or account` },
      )
    case 'beyond_charge':
      throw reasonError('beyond_charge', { most: rubles(outcome.chargedMicro) })
    case 'uncovered':
      throw reasonError('uncovered', {}, { says: `The account's available balance does not cover this ${kind}` })
    case 'existing':
    case 'created': {
      const booked = { kind, amount: rubles(amountMicro), entry: outcome.entry, balanceMicro: outcome.balanceMicro }
      if (outcome.status === 'existing') return { ...booked, status: 200 }
      await recordChange(ports, call, `ledger.${kind}`, accountId, null, { amount: booked.amount, reason, reference })
      return { ...booked, status: 201 }
    }
  }
}

async function statement(
  ports: AdminPorts,
  call: AdminCall,
): Promise<AdminAnswer<'GET /admin/v1/accounts/:id/statement'>> {
  const { timezone } = ports.catalog.current().settings
  const range = { ...dayRange(call.query, ports.periods().day), timezone, nowMs: ports.clock.now() }
  return await statementOf(ports.store.statements, await accountNamed(ports, param(call, 'id')), range)
}

/** The fields that PUT sets and the body for a new key may omit, with their defaults. */
const DEFAULTS: KeyTerms = Object.fromEntries(
  Object.keys(KeyPut.fields)
    .filter((name) => !['account', 'name', 'disabled'].includes(name))
    .map((name) => [name, null]),
)

/** Keys of accounts. */
export function keyAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  const kind = keyKind(ports)
  return [
    adminRoute('POST /admin/v1/accounts/:id/keys', async (call, read) => {
      const { id: accountId } = await accountNamed(ports, param(call, 'id'))
      const { record, once } = await createKey(ports, accountId, read(), { externalId: null, disabled: false })
      const body = shown(ports, record)
      await recordChange(ports, call, 'key.create', record.id, null, body)
      return { ...body, ...once }
    }),
    listRoute(ports, 'GET /admin/v1/accounts/:id/keys', async (call, range) => {
      const { id } = await accountNamed(ports, param(call, 'id'))
      const { timezone } = ports.catalog.current().settings
      const refused = await ports.store.refusals.byKey(id, startOfDay(ports.periods().day, timezone))
      return listBody(
        await ports.store.keys.lists.page(
          { accountId: id, search: call.query.get('query') ?? '' },
          ports.periods(),
          range,
        ),
        ({ key, ...more }) => ({ ...shown(ports, { ...key, ...more }), refused_today: refused.get(key.id) ?? 0 }),
      )
    }),
    listRoute(ports, 'GET /admin/v1/keys', async ({ query }, range) => {
      const words = query.get('query') ?? ''
      if (words.trim() === '') throw fieldError('query', 'required')
      return listBody(await ports.store.keys.lists.found(words, ports.periods(), range), ({ key, ...more }) =>
        shown(ports, { ...key, ...more }),
      )
    }),
    adminRoute('POST /admin/v1/keys/:id/rotate', (call, read) => rotateKey(ports, kind, call, read)),
    ...namedRecordRoutes(ports, kind),
  ]
}

/** A key with the values shown with it that are not columns of its own. */
type FullKey = KeyRecord & Pick<NamedKey, 'spend' | 'externalId'>

function shown(ports: AdminPorts, { spend, externalId, ...key }: FullKey): Key {
  return keyBody(key, spend, ports.periods(), { external_id: externalId, account: key.accountId })
}

async function keyOf({ store, periods }: AdminPorts, id: string): Promise<FullKey | null> {
  const found = await store.keys.get(id, periods())
  return found === null ? null : { ...found.key, spend: found.spend, externalId: found.externalId }
}

/** Keys as records that a client describes. */
function keyKind(ports: AdminPorts): NamedRecords<'/admin/v1/keys/:id', FullKey, KeyPatch> {
  const { keys } = ports.store
  return {
    path: '/admin/v1/keys/:id',
    noun: 'Key',
    kind: 'key',
    event: 'key',
    terms: Object.keys(KeyPut.fields),
    get: (id) => keyOf(ports, id),
    shown: (key) => shown(ports, key),
    update: async (id, decide) => {
      const found = await keyOf(ports, id)
      if (found === null) return null
      const changed = await keys.update(id, (key) => decide({ ...found, ...key }), ports.periods())
      return changed === null ? null : keyOf(ports, id)
    },
    describe: async (_call, read) => {
      const { account: owner, disabled, ...terms } = read()
      const { id: accountId } = await accountNamed(ports, owner)
      return {
        change: (current) => {
          if (current.accountId !== accountId)
            throw fieldError(
              'account',
              'one_of',
              { allowed: current.accountId },
              `must be ${current.accountId}: a key does not move to another account`,
            )
          const flags = typeof disabled === 'boolean' ? { disabled } : {}
          return keyPatchOf({ ...DEFAULTS, ...terms, ...flags }, current)
        },
        create: (externalId) => createKey(ports, accountId, terms, { externalId, disabled: disabled ?? false }),
      }
    },
    patch: (_call, terms) => (current) => keyPatchOf(terms, current),
    remove: async ({ id, ...found }, guard) => {
      if (!(await keys.delete(id, (key) => guard(shown(ports, { ...found, ...key }))))) return false
      ports.access.invalidate({ keyId: id })
      return true
    },
    changed: ({ id }) => ports.access.invalidate({ keyId: id }),
  }
}

/** `once` has the secret, which only one answer shows. */
async function createKey(
  ports: AdminPorts,
  accountId: string,
  terms: KeyTerms & { readonly name: string },
  more: { readonly externalId: string | null; readonly disabled: boolean },
): Promise<{ readonly record: FullKey; readonly once: { readonly key: string } }> {
  const { key, record } = newKey(terms, accountId, ports.ids, ports.clock.now())
  const made = await madeKey(ports.store.keys, { ...record, ...more }, OPERATOR_KEYS_MAX)
  return { record: { ...made, spend: NOTHING_SPENT, externalId: more.externalId }, once: { key } }
}

async function rotateKey(
  ports: AdminPorts,
  kind: ReturnType<typeof keyKind>,
  call: AdminCall,
  read: AdminBody<'POST /admin/v1/keys/:id/rotate'>,
): Promise<AdminAnswer<'POST /admin/v1/keys/:id/rotate'>> {
  const given = param(call, 'id')
  const terms = read()
  const before = await findNamed(ports, kind, given)
  if (before === null) throw notFound('Key', given)
  const { id } = before
  const key = await newSecret(ports.store.keys, id, terms, ports.ids, ports.clock.now())
  ports.access.invalidate({ keyId: id })
  const after = await keyOf(ports, id)
  if (after === null) throw notFound('Key', given)
  const body = shown(ports, after)
  await recordChange(ports, call, 'key.rotate', id, shown(ports, before), body)
  return { ...body, key }
}

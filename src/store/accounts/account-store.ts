import { assert } from '../../base/assert.ts'
import type { FreeMoney } from '../../ledger/free-hour.ts'
import type { LimitReset, PeriodStarts } from '../../ledger/ledger-store.ts'
import type { BookSeal } from '../audit/book-seal.ts'
import { setAside } from '../ledger/expiry-sweep.ts'
import { conditionsOf, countRows, CREATED_AT, readPage, type Order, type Page, type PageRange } from '../page.ts'
import { changeRow, column, insertSealed, Rows, type RecordOf } from '../rows.ts'
import { EXTERNAL_IDS, nameRecord } from './external-id-store.ts'
import {
  big,
  bigOrNull,
  CHANGE,
  LOOK_UP,
  text,
  textOrNull,
  type Database,
  type Row,
  type Sql,
  type SqlValue,
} from '../database.ts'
import { ROW_LOCK } from '../dialect.ts'
import type { WordStore } from '../search/word-store.ts'
import { accountPeriod, isEarlier, limitStart } from '../../ledger/hold-rules.ts'
import { SELECT_ACCOUNT_SPEND } from '../ledger/ledger-values.ts'

/** The sealed columns of a new account besides its own fields. */
const NOTHING_YET = {
  entry_head: '',
  log_rows: 0n,
  log_dropped: 0n,
  free_hour: 0n,
  free_insured: 0n,
  free_spent: 0n,
  open_day: '',
}
const NOT_OVER = { limit_over: null, limit_over_start: null }

/**
 * Called in the transaction that changes an account's limit: writes what was spent in the limit's period so far, and
 * what is spent and held above a lowered limit (invariant I6).
 */
async function countForLimit(sql: Sql, seal: BookSeal, id: string, periods: PeriodStarts): Promise<void> {
  const [row] = await sql.all('SELECT spend_limit, limit_reset, limit_start, held FROM account WHERE id = ?', [id])
  if (row === undefined) return
  const limitMicro = bigOrNull(row, 'spend_limit')
  // A CHECK of the schema restricts the values.
  const limitReset = textOrNull(row, 'limit_reset') as LimitReset | null
  const period = accountPeriod({ id, limitMicro, limitReset }, periods)
  if (period === null || limitMicro === null) {
    await changeRow(sql, seal, 'account', id, { ...NOT_OVER, limit_start: null, limit_spent: 0n })
    return
  }
  const now = limitStart(period)
  const counted = textOrNull(row, 'limit_start')
  // A node whose clock is ahead has already moved to the next period.
  const start = counted !== null && isEarlier(now, counted) ? counted : now
  const [sum] = await sql.all(SELECT_ACCOUNT_SPEND, [period.period, start.slice(period.period.length + 1), id])
  const spentMicro = sum === undefined ? 0n : big(sum, 'spent')
  const overMicro = spentMicro + big(row, 'held') - limitMicro
  const over = overMicro > 0n ? { limit_over: overMicro, limit_over_start: start } : NOT_OVER
  await changeRow(sql, seal, 'account', id, { ...over, limit_start: start, limit_spent: spentMicro })
}

export type AccountOrder = Order<'created_at' | 'name'>

export interface AccountFilter {
  readonly query: string | null
  readonly status?: AccountStatus | null
  readonly groupId?: string | null
  /** Absent = the newest first. */
  readonly order?: AccountOrder | null
}

export type AccountStatus = 'active' | 'deactivated' | 'locked'

/** The most requests in any `window` seconds. */
export interface RateLimit {
  readonly requests: number
  readonly window: number
}

const RULE_FIELDS = {
  id: column.text('id'),
  status: column.text<AccountStatus>('status'),
  defaultModel: column.textOrNull('default_model'),
  rateLimit: column.jsonOrNull<RateLimit>('rate_limit'),
  allowedModels: column.jsonOrNull<readonly string[]>('allowed_models'),
  /** The group of accounts to which it belongs. */
  groupId: column.textOrNull('group_id'),
  /** The factor of its prices, a decimal above 0; null = the group's, if it has one. */
  markup: column.textOrNull('markup'),
}
const ACCOUNTS = new Rows('account', {
  ...RULE_FIELDS,
  /** The name that a client gave it; null = none. */
  externalId: column.textOrNull('external_id', EXTERNAL_IDS.account),
  name: column.text('name'),
  email: column.textOrNull('email'),
  /** Whether the database decides each of its holds, so that no node sets its money aside. */
  exactHolds: column.flag('exact_holds'),
  /** The most that all its keys together may spend in a period; null = no limit. */
  limitMicro: column.bigOrNull('spend_limit'),
  limitReset: column.textOrNull<LimitReset>('limit_reset'),
  /** The newest period of the limit that has been counted, such as `month 2026-11-01`, and the spending in it. */
  limitStart: column.textOrNull('limit_start'),
  limitSpentMicro: column.big('limit_spent'),
  /** Includes the money that nodes have set aside for requests to come. */
  availableMicro: column.big('available'),
  /** The money held for running requests, as far as the store knows of them. */
  heldMicro: column.big('held'),
  createdAtMs: column.integer('created_at'),
})
export type AccountRecord = RecordOf<typeof ACCOUNTS>

/** The rules of an account `a`; if it has no markup of its own, with that of its group `g`. */
const ACCOUNT_RULES = new Rows(
  'account',
  { ...RULE_FIELDS, markup: column.textOrNull('markup', 'COALESCE(a.markup, g.markup)') },
  { of: 'a' },
)
/** The rules of an account that its requests are checked against. */
export type AccountRules = RecordOf<typeof ACCOUNT_RULES>
export const RULES = ACCOUNT_RULES.list
export const GROUP_OF_RULES = 'LEFT JOIN account_group g ON g.id = a.group_id'

export function readAccountRules(row: Row): AccountRules {
  return ACCOUNT_RULES.read(row)
}

export type AccountPatch = Partial<
  Pick<
    AccountRecord,
    | 'externalId'
    | 'name'
    | 'email'
    | 'status'
    | 'defaultModel'
    | 'rateLimit'
    | 'allowedModels'
    | 'groupId'
    | 'markup'
    | 'exactHolds'
    | 'limitMicro'
    | 'limitReset'
  >
>

/** Orders names by their letters in the same way in both databases. The index has this expression. */
export function accountNameKey(dialect: Database['dialect']): string {
  return dialect === 'sqlite' ? 'lower(name)' : 'lower(name COLLATE "C")'
}

/** null = there is no such account. */
export function findAccountRules(database: Database, id: string): Promise<AccountRules | null> {
  return ACCOUNT_RULES.one(database, `${GROUP_OF_RULES} WHERE a.id = ?`, [id], LOOK_UP)
}

function readAccount(row: Row): AccountRecord {
  const account = ACCOUNTS.read(row)
  const asideMicro = big(row, 'set_aside')
  return {
    ...account,
    availableMicro: account.availableMicro + asideMicro,
    heldMicro: account.heldMicro - asideMicro,
  }
}

/** A text for a LIKE pattern with the escape character `\`: its own wildcards are taken literally. */
export function likeLiteral(given: string): string {
  return given.replaceAll(/[\\%_]/g, String.raw`\$&`)
}

/** A LIKE pattern for texts that begin with `query`. */
export function likePrefix(query: string): string {
  return `${likeLiteral(query)}%`
}

export type NewAccount = Pick<AccountRecord, 'id' | 'name' | 'email' | 'defaultModel' | 'rateLimit' | 'createdAtMs'> &
  Partial<
    Pick<
      AccountRecord,
      'externalId' | 'status' | 'allowedModels' | 'groupId' | 'markup' | 'exactHolds' | 'limitMicro' | 'limitReset'
    >
  >

export class AccountStore {
  readonly #database: Database
  readonly #seal: BookSeal
  readonly #list: string

  readonly #words: WordStore

  constructor(database: Database, seal: BookSeal, words: WordStore) {
    this.#database = database
    this.#words = words
    this.#list = `${ACCOUNTS.list}, ${setAside(database.dialect, 'account')}`
    this.#seal = seal
  }

  async create(account: NewAccount): Promise<AccountRecord> {
    await this.#database.transaction((sql) => this.#insert(sql, account))
    const created = await this.get(account.id)
    if (created === null) throw new Error(`Account ${account.id} was not found after it was created.`)
    return created
  }

  async #insert(sql: Sql, account: NewAccount): Promise<void> {
    if (typeof account.externalId === 'string') await nameRecord(sql, 'account', account.id, account.externalId)
    await countRows(sql, this.#seal, 'account')
    await insertSealed(sql, this.#seal, 'account', {
      ...ACCOUNTS.cells({ status: 'active', ...account }),
      ...NOTHING_YET,
    })
  }

  /** Makes an account for a person who is in none; false = they are in one. */
  async createFor(userId: string, account: NewAccount): Promise<boolean> {
    return this.#database.transaction(async (sql) => {
      const [alone] = await sql.all(
        `SELECT id FROM console_user WHERE id = ? AND account_id IS NULL AND NOT EXISTS (SELECT 1 FROM account_member WHERE user_id = console_user.id)${ROW_LOCK}`,
        [userId],
      )
      if (alone === undefined) return false
      await this.#insert(sql, account)
      await sql.run('UPDATE console_user SET account_id = ? WHERE id = ?', [account.id, userId])
      return true
    })
  }

  /** The available and the set-aside money of an account; 0 = there is no account with this id. */
  async freeMoney(id: string): Promise<FreeMoney> {
    const column = setAside(this.#database.dialect, 'account')
    const [row] = await this.#database.all(`SELECT available, ${column} FROM account WHERE id = ?`, [id])
    if (row === undefined) return { availableMicro: 0n, setAsideMicro: 0n }
    return { availableMicro: big(row, 'available'), setAsideMicro: big(row, 'set_aside') }
  }

  async get(id: string): Promise<AccountRecord | null> {
    const columns = this.#list
    const [row] = await this.#database.all(`SELECT ${columns} FROM account WHERE id = ?`, [id])
    return row === undefined ? null : readAccount(row)
  }

  /** The rules with the markup of its group if it has none of its own; null = there is no such account. */
  rules(id: string): Promise<AccountRules | null> {
    return findAccountRules(this.#database, id)
  }

  /** The names of accounts by their ids; an id without an account is left out. */
  async names(ids: ReadonlySet<string>): Promise<ReadonlyMap<string, string>> {
    if (ids.size === 0) return new Map()
    const marks = [...ids].map(() => '?').join(', ')
    const rows = await this.#database.all(`SELECT id, name FROM account WHERE id IN (${marks})`, [...ids])
    return new Map(rows.map((row) => [text(row, 'id'), text(row, 'name')]))
  }

  async list(filter: AccountFilter & PageRange): Promise<Page<AccountRecord>> {
    const { query, status = null, groupId = null, order } = filter
    const { dialect } = this.#database
    const found = await this.#words.finding('account', 'id', query)
    const own = conditionsOf([
      ['status = ?', status ?? undefined],
      ['group_id = ?', groupId ?? undefined],
    ])
    return readPage(
      this.#database,
      {
        rows: { list: this.#list, from: 'account', read: readAccount },
        conditions: [...found.conditions, ...own.conditions],
        values: [...found.values, ...own.values],
        common: found.common,
        order: order ?? '-created_at',
        columns: { created_at: CREATED_AT, name: { sql: accountNameKey(dialect), is: 'text' } },
      },
      filter,
    )
  }

  /**
   * Changes the given fields; null = there is no such account. A function decides them by the account's current state,
   * while nobody else changes it; if it throws, nothing changes. `periods` = the current ones, in which a new limit
   * counts. Throws ExternalIdTakenError.
   */
  async update(
    id: string,
    change: AccountPatch | ((current: AccountRecord) => AccountPatch),
    periods: PeriodStarts | null = null,
  ): Promise<AccountRecord | null> {
    await this.#database.transaction(async (sql) => {
      const patch = typeof change === 'function' ? await this.#decided(sql, id, change) : change
      await changeRow(sql, this.#seal, 'account', id, ACCOUNTS.cells(patch))
      if (patch.limitMicro !== undefined || patch.limitReset !== undefined) {
        assert(periods !== null, 'A limit is changed in a known period.')
        await countForLimit(sql, this.#seal, id, periods)
      }
      if (patch.externalId !== undefined) await nameRecord(sql, 'account', id, patch.externalId)
      if (patch.status === 'deactivated')
        for (const [statement, values] of textsOf(id)) await sql.run(statement, values)
    }, CHANGE)
    return this.get(id)
  }

  async #decided(sql: Sql, id: string, decide: (current: AccountRecord) => AccountPatch): Promise<AccountPatch> {
    const columns = this.#list
    const [row] = await sql.all(`SELECT ${columns} FROM account WHERE id = ?${ROW_LOCK}`, [id])
    return row === undefined ? {} : decide(readAccount(row))
  }
}

/**
 * The statements that delete the stored requests and answers of a closed account; the sweep removes the bytes of its
 * files.
 */
function textsOf(accountId: string): readonly (readonly [statement: string, values: readonly SqlValue[]])[] {
  return [
    ['DELETE FROM kept_response WHERE account_id = ?', [accountId]],
    ['UPDATE idempotency_key SET answer = NULL WHERE account_id = ? AND answer IS NOT NULL', [accountId]],
    ['DELETE FROM kept_answer WHERE account_id = ?', [accountId]],
    ['UPDATE stored_file SET expires_at = 0 WHERE account_id = ?', [accountId]],
    // A live job still needs its request, from which its price is computed.
    [
      `UPDATE job SET request = ? WHERE account_id = ? AND status NOT IN ('pending','in_progress')`,
      [Buffer.alloc(0), accountId],
    ],
  ]
}

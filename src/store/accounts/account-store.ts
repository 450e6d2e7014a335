import { assert } from '../../base/assert.ts'
import type { Micro } from '../../base/money.ts'
import type { FreeMoney } from '../../ledger/free-hour.ts'
import type { LimitReset, PeriodStarts } from '../../ledger/ledger-store.ts'
import type { BookSeal } from '../audit/book-seal.ts'
import { setAside } from '../ledger/expiry-sweep.ts'
import { countRows, CREATED_AT, readPage, ROW_ID, type Order, type Page, type PageRange } from '../page.ts'
import { changeRow, type RowChange } from '../sealed-row.ts'
import { EXTERNAL_IDS, nameRecord } from './external-id-store.ts'
import {
  big,
  bigOrNull,
  bit,
  CHANGE,
  integer,
  json,
  LOOK_UP,
  text,
  textOrNull,
  type Database,
  type Row,
  type Sql,
  type SqlValue,
} from '../database.ts'
import { ROW_LOCK } from '../dialect.ts'
import { accountPeriod, isEarlier, limitStart } from '../../ledger/account-limit.ts'
import { SELECT_ACCOUNT_SPEND } from '../ledger/ledger-values.ts'

const NOT_OVER = { limit_over: null, limit_over_start: null }

/**
 * After a change of an account's limit, in its transaction: the row has what was spent in the limit's period so far,
 * and what is spent and held above a lowered limit (invariant I6).
 */
async function countForLimit(sql: Sql, seal: BookSeal, id: string, periods: PeriodStarts): Promise<void> {
  const [row] = await sql.all('SELECT spend_limit, limit_reset, limit_start, held FROM account WHERE id = ?', [id])
  if (row === undefined) return
  const limitMicro = bigOrNull(row, 'spend_limit')
  // A CHECK of the schema bounds it.
  const limitReset = textOrNull(row, 'limit_reset') as LimitReset | null
  const period = accountPeriod({ id, limitMicro, limitReset }, periods)
  if (period === null || limitMicro === null) {
    await changeRow(sql, seal, 'account', id, { ...NOT_OVER, limit_start: null, limit_spent: 0n })
    return
  }
  const now = limitStart(period)
  const counted = textOrNull(row, 'limit_start')
  // A node whose clock is ahead has turned to the next period.
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
  /** The newest first if absent. */
  readonly order?: AccountOrder | null
}

export type AccountStatus = 'active' | 'deactivated' | 'locked'

/** At most so many requests in any `window` seconds. */
export interface RateLimit {
  readonly requests: number
  readonly window: number
}

export interface AccountRecord {
  readonly id: string
  /** The name that a client gave it; null = none. */
  readonly externalId: string | null
  readonly name: string
  readonly email: string | null
  readonly status: AccountStatus
  readonly defaultModel: string | null
  readonly rateLimit: RateLimit | null
  readonly allowedModels: readonly string[] | null
  /** The group of accounts that it belongs to. */
  readonly groupId: string | null
  /** What its prices are multiplied with, a decimal above 0; null = the group's, if it has one. */
  readonly markup: string | null
  /** The database decides each of its holds, and nodes set none of its money aside. */
  readonly exactHolds: boolean
  /** What all its keys together may spend in a period; null = no limit. */
  readonly limitMicro: Micro | null
  readonly limitReset: LimitReset | null
  /** The newest period that the limit has counted, such as `month 2026-11-01`, and its spending. */
  readonly limitStart: string | null
  readonly limitSpentMicro: Micro
  /** With what nodes have set aside for requests to come. */
  readonly availableMicro: Micro
  /** For running requests, as far as the store knows of them. */
  readonly heldMicro: Micro
  readonly createdAtMs: number
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

const EXTERNAL_ID = EXTERNAL_IDS.account

function selectOf(dialect: Database['dialect']): string {
  const column = setAside(dialect, 'account')
  return `SELECT id, name, email, status, default_model, rate_limit, allowed_models, group_id, markup, exact_holds, spend_limit, limit_reset, limit_start, limit_spent, available, held, created_at, ${column}, ${EXTERNAL_ID} AS external_id FROM account`
}

/** Names in the order of their letters, alike in both databases. The index has this expression. */
export function accountNameKey(dialect: Database['dialect']): string {
  return dialect === 'sqlite' ? 'lower(name)' : 'lower(name COLLATE "C")'
}

/** The rules of an account that its requests are checked against. */
export type AccountRules = Pick<
  AccountRecord,
  'id' | 'status' | 'defaultModel' | 'rateLimit' | 'allowedModels' | 'groupId' | 'markup'
>

export function readAccountRules(row: Row): AccountRules {
  return {
    id: text(row, 'id'),
    // A CHECK of the schema bounds it.
    status: text(row, 'status') as AccountStatus,
    defaultModel: textOrNull(row, 'default_model'),
    rateLimit: json<RateLimit>(row, 'rate_limit'),
    allowedModels: json<readonly string[]>(row, 'allowed_models'),
    groupId: textOrNull(row, 'group_id'),
    markup: textOrNull(row, 'markup'),
  }
}

/** The columns of an account `a`, with the markup of its group `g` where it has none of its own. */
export const RULES = `a.id AS id, a.status AS status, a.default_model AS default_model, a.rate_limit AS rate_limit,
  a.allowed_models AS allowed_models, a.group_id AS group_id, COALESCE(a.markup, g.markup) AS markup`
export const GROUP_OF_RULES = 'LEFT JOIN account_group g ON g.id = a.group_id'

/** null = no such account. */
export async function findAccountRules(database: Database, id: string): Promise<AccountRules | null> {
  const [row] = await database.all(`SELECT ${RULES} FROM account a ${GROUP_OF_RULES} WHERE a.id = ?`, [id], LOOK_UP)
  return row === undefined ? null : readAccountRules(row)
}

export function readAccount(row: Row): AccountRecord {
  return {
    ...readAccountRules(row),
    externalId: textOrNull(row, 'external_id'),
    name: text(row, 'name'),
    email: textOrNull(row, 'email'),
    exactHolds: big(row, 'exact_holds') !== 0n,
    limitMicro: bigOrNull(row, 'spend_limit'),
    // A CHECK of the schema bounds it.
    limitReset: textOrNull(row, 'limit_reset') as LimitReset | null,
    limitStart: textOrNull(row, 'limit_start'),
    limitSpentMicro: big(row, 'limit_spent'),
    availableMicro: big(row, 'available') + big(row, 'set_aside'),
    heldMicro: big(row, 'held') - big(row, 'set_aside'),
    createdAtMs: integer(row, 'created_at'),
  }
}

export function jsonText(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value)
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
  readonly #select: string

  constructor(database: Database, seal: BookSeal) {
    this.#database = database
    this.#select = selectOf(database.dialect)
    this.#seal = seal
  }

  async create(account: NewAccount): Promise<AccountRecord> {
    await this.#database.transaction((sql) => this.#insert(sql, account))
    const created = await this.get(account.id)
    if (created === null) throw new Error(`Account ${account.id} was not found after it was created.`)
    return created
  }

  async #insert(sql: Sql, account: NewAccount): Promise<void> {
    const rateLimit = jsonText(account.rateLimit)
    const allowedModels = jsonText(account.allowedModels)
    const { externalId = null, status = 'active', groupId = null, markup = null, exactHolds = false } = account
    const { limitMicro = null, limitReset = null } = account
    if (externalId !== null) await nameRecord(sql, 'account', account.id, externalId)
    await countRows(sql, this.#seal, 'account')
    await sql.run(
      'INSERT INTO account (id, name, email, status, default_model, rate_limit, allowed_models, group_id, markup, exact_holds, spend_limit, limit_reset, created_at, seal) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)',
      [
        account.id,
        account.name,
        account.email,
        status,
        account.defaultModel,
        rateLimit,
        allowedModels,
        groupId,
        markup,
        bit(exactHolds),
        limitMicro,
        limitReset,
        BigInt(account.createdAtMs),
        this.#seal.of('account', [
          account.id,
          '',
          0n,
          0n,
          0n,
          0n,
          0n,
          '',
          status,
          rateLimit,
          allowedModels,
          groupId,
          markup,
          limitMicro,
          limitReset,
        ]),
      ],
    )
  }

  /** Makes an account of a person who is in none; false = they are in one. */
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

  /** The available and the set-aside money of an account; 0 if there is none of this id. */
  async freeMoney(id: string): Promise<FreeMoney> {
    const column = setAside(this.#database.dialect, 'account')
    const [row] = await this.#database.all(`SELECT available, ${column} FROM account WHERE id = ?`, [id])
    if (row === undefined) return { availableMicro: 0n, setAsideMicro: 0n }
    return { availableMicro: big(row, 'available'), setAsideMicro: big(row, 'set_aside') }
  }

  async get(id: string): Promise<AccountRecord | null> {
    const select = this.#select
    const [row] = await this.#database.all(`${select} WHERE id = ?`, [id])
    return row === undefined ? null : readAccount(row)
  }

  /** With the markup of its group where it has none of its own; null = no such account. */
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

  list(filter: AccountFilter & PageRange): Promise<Page<AccountRecord>> {
    const { query, status = null, groupId = null, order } = filter
    const { dialect } = this.#database
    const prefix = query === null ? [] : Array.from({ length: 4 }, () => likePrefix(query))
    return readPage(
      this.#database,
      {
        select: this.#select,
        from: 'account',
        conditions: [
          ...(query === null
            ? []
            : [
                String.raw`(id LIKE ? ESCAPE '\' OR name LIKE ? ESCAPE '\' OR email LIKE ? ESCAPE '\' OR ${EXTERNAL_ID} LIKE ? ESCAPE '\')`,
              ]),
          ...(status === null ? [] : ['status = ?']),
          ...(groupId === null ? [] : ['group_id = ?']),
        ],
        values: [...prefix, ...[status, groupId].filter((value) => value !== null)],
        order: order ?? '-created_at',
        columns: { created_at: CREATED_AT, name: { sql: accountNameKey(dialect), is: 'text' } },
        id: ROW_ID,
        read: readAccount,
      },
      filter,
    )
  }

  /**
   * Changes the given fields; null = no such account. A function decides them by the account as it is, while nobody
   * else changes it, and what it throws keeps all as it was. `periods` = the current ones, which a new limit counts.
   * Throws ExternalIdTakenError.
   */
  async update(
    id: string,
    change: AccountPatch | ((current: AccountRecord) => AccountPatch),
    periods: PeriodStarts | null = null,
  ): Promise<AccountRecord | null> {
    await this.#database.transaction(async (sql) => {
      const patch = typeof change === 'function' ? await this.#decided(sql, id, change) : change
      await changeRow(sql, this.#seal, 'account', id, columnsOf(patch))
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
    const select = this.#select
    const [row] = await sql.all(`${select} WHERE id = ?${ROW_LOCK}`, [id])
    return row === undefined ? {} : decide(readAccount(row))
  }
}

/** What is kept of a closed account's requests and answers goes; the sweep removes the bytes of its files. */
function textsOf(accountId: string): readonly (readonly [statement: string, values: readonly SqlValue[]])[] {
  return [
    ['DELETE FROM kept_response WHERE account_id = ?', [accountId]],
    ['UPDATE idempotency_key SET answer = NULL WHERE account_id = ? AND answer IS NOT NULL', [accountId]],
    ['DELETE FROM kept_answer WHERE account_id = ?', [accountId]],
    ['UPDATE stored_file SET expires_at = 0 WHERE account_id = ?', [accountId]],
    // One that is worked on still needs its request, and its price comes from it.
    [
      `UPDATE job SET request = ? WHERE account_id = ? AND status NOT IN ('pending','in_progress')`,
      [Buffer.alloc(0), accountId],
    ],
  ]
}

function columnsOf(patch: AccountPatch): RowChange {
  return {
    name: patch.name,
    email: patch.email,
    status: patch.status,
    default_model: patch.defaultModel,
    rate_limit: patch.rateLimit === undefined ? undefined : jsonText(patch.rateLimit),
    allowed_models: patch.allowedModels === undefined ? undefined : jsonText(patch.allowedModels),
    group_id: patch.groupId,
    markup: patch.markup,
    spend_limit: patch.limitMicro,
    limit_reset: patch.limitReset,
    exact_holds: patch.exactHolds === undefined ? undefined : bit(patch.exactHolds),
  }
}

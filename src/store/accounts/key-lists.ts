import type { PeriodStarts } from '../../ledger/ledger-store.ts'
import type { Micro } from '../../base/money.ts'
import { big, bit, integer, text, textOrNull, type Database, type Row, type SqlValue } from '../database.ts'
import { listedIds } from '../dialect.ts'
import { setAside } from '../ledger/expiry-sweep.ts'
import { conditionsOf, CREATED_AT, readPage, type Page, type PageQuery, type PageRange } from '../page.ts'
import type { FoundBy, WordStore } from '../search/word-store.ts'
import { EXTERNAL_IDS } from './external-id-store.ts'

/**
 * The part of an account's things that a caller reaches: those made with the keys of one member; without a person,
 * those that belong to the account.
 */
export interface Reach {
  readonly accountId: string
  /** A member, who reaches nothing that belongs to the account. */
  readonly person?: string
}

/**
 * The member to whom the things of a key `k` belong; null = they belong to the account, since an owner, a program or
 * the operator made the key.
 */
export const PERSON = `CASE WHEN k.made_by IS NULL
  OR EXISTS (SELECT 1 FROM console_user u WHERE u.id = k.made_by AND u.account_id = k.account_id)
  OR EXISTS (SELECT 1 FROM account_member m WHERE m.account_id = k.account_id AND m.user_id = k.made_by AND m.role = 'owner')
  THEN NULL ELSE k.made_by END`

/**
 * The condition that a row is within the reach, by its account and the key that made it; `into` is the table's name in
 * the query.
 */
export function within(
  { accountId, person }: Reach,
  into: string,
): { readonly condition: string; readonly values: readonly SqlValue[] } {
  return {
    condition: `${into}.account_id = ? AND COALESCE((SELECT ${PERSON} FROM api_key k WHERE k.id = ${into}.key_id), '') = ?`,
    values: [accountId, person ?? ''],
  }
}

/**
 * The money that a key has spent in each period, and that is held for its running requests, as far as the store knows
 * of them.
 */
export interface KeySpend {
  readonly totalMicro: Micro
  readonly dayMicro: Micro
  readonly weekMicro: Micro
  readonly monthMicro: Micro
  readonly heldMicro: Micro
}

/** A key with its spending. */
export interface ListedKey<Key> {
  readonly key: Key
  readonly spend: KeySpend
  /** The external id that a client gave the key; null = none. */
  readonly externalId: string | null
}

/** A filter for the keys of an account. */
export interface KeyFilter {
  readonly accountId: string
  /** The person who made them; absent = anybody. */
  readonly madeBy?: string
  readonly disabled?: boolean
  /** Words of the name, the label or an id. */
  readonly search?: string
}

/** Sums over the keys that a filter finds, without reading the keys. */
export interface KeySums {
  readonly keys: number
  readonly hasUsed: boolean
  /** The spending of the month. */
  readonly spentMicro: Micro
}

/** Reads many keys of an account with few statements. */
export class KeyLists<Key> {
  readonly #database: Database
  readonly #list: string
  readonly #from: string
  readonly #read: (row: Row) => Key
  readonly #words: WordStore

  /** `rows` are those of a table `k` of keys. */
  constructor(
    database: Database,
    rows: { readonly list: string; readonly from: string; read(row: Row): Key },
    words: WordStore,
  ) {
    this.#database = database
    this.#words = words
    this.#list = [
      rows.list,
      'k.held AS held',
      setAside(database.dialect, 'k'),
      `${EXTERNAL_IDS.key} AS external_id`,
    ].join(', ')
    this.#from = rows.from
    this.#read = (row) => rows.read(row)
  }

  async one(id: string, periods: PeriodStarts): Promise<ListedKey<Key> | null> {
    const [columns, table] = [this.#list, this.#from]
    const rows = await this.#database.all(`SELECT ${columns} FROM ${table} WHERE id = ? AND deleted = 0`, [id])
    const [found] = await this.#withSpend(rows, periods)
    return found ?? null
  }

  /** The newest first. */
  async page(filter: KeyFilter, periods: PeriodStarts, range: PageRange): Promise<Page<ListedKey<Key>>> {
    const query = {
      ...(await this.#conditions(filter)),
      order: '-created_at',
      columns: { created_at: CREATED_AT },
    } as const
    return this.#paged(query, periods, range)
  }

  /** Keys of all accounts that a search finds, in the order of their ids. */
  async found(search: string, periods: PeriodStarts, range: PageRange): Promise<Page<ListedKey<Key>>> {
    const words = await this.#words.finding('api_key', 'id', search)
    const conditions = ['deleted = 0', ...words.conditions]
    return this.#paged(
      { ...words, conditions, order: 'id', columns: { id: { sql: 'id', is: 'text' } } },
      periods,
      range,
    )
  }

  async #paged<Column extends string>(
    query: Omit<PageQuery<Column, Row>, 'rows'>,
    periods: PeriodStarts,
    range: PageRange,
  ): Promise<Page<ListedKey<Key>>> {
    const rows = { list: this.#list, from: this.#from, read: (row: Row): Row => row }
    const found = await readPage(this.#database, { ...query, rows }, range)
    return { ...found, data: await this.#withSpend(found.data, periods) }
  }

  async sums(filter: KeyFilter, { month }: PeriodStarts): Promise<KeySums> {
    const { conditions, values } = await this.#conditions(filter)
    const where = conditions.join(' AND ')
    const [row = {}] = await this.#database.all(
      `SELECT COUNT(*) AS keys, COUNT(last_used_at) AS used, COALESCE(SUM(spent), 0) AS spent FROM api_key
        LEFT JOIN key_spend ON key_id = id AND period = 'month' AND start = ? WHERE ${where}`,
      [month, ...values],
    )
    return { keys: integer(row, 'keys'), hasUsed: big(row, 'used') > 0n, spentMicro: big(row, 'spent') }
  }

  /** Sums for each person who has made keys of the account; null = keys that nobody has made. */
  async byMaker(
    accountId: string,
    { month }: PeriodStarts,
  ): Promise<ReadonlyMap<string | null, Omit<KeySums, 'hasUsed'>>> {
    const rows = await this.#database.all(
      `SELECT made_by, COUNT(*) AS keys, COALESCE(SUM(spent), 0) AS spent FROM api_key
        LEFT JOIN key_spend ON key_id = id AND period = 'month' AND start = ?
        WHERE account_id = ? AND deleted = 0 GROUP BY made_by`,
      [month, accountId],
    )
    return new Map(
      rows.map((row) => [textOrNull(row, 'made_by'), { keys: integer(row, 'keys'), spentMicro: big(row, 'spent') }]),
    )
  }

  /**
   * Enabled keys that end before an instant, or have at most a fifth of their limit left: at most `most` of them. Money
   * that nodes have set aside counts as spent here, so some have more left.
   */
  async nearEnd(
    filter: KeyFilter,
    periods: PeriodStarts,
    end: { readonly beforeMs: number; readonly most: number },
  ): Promise<readonly ListedKey<Key>[]> {
    const { conditions, values } = await this.#conditions({ ...filter, disabled: false })
    const [columns, table, where] = [this.#list, this.#from, conditions.join(' AND ')]
    const rows = await this.#database.all(
      `SELECT ${columns} FROM ${table}
        LEFT JOIN key_spend ON key_id = id
          AND period = CASE limit_reset WHEN 'daily' THEN 'day' WHEN 'weekly' THEN 'week' WHEN 'monthly' THEN 'month' ELSE 'total' END
          AND start = CASE limit_reset WHEN 'daily' THEN ? WHEN 'weekly' THEN ? WHEN 'monthly' THEN ? ELSE '' END
        WHERE ${where} AND (expires_at < ? OR 5 * (COALESCE(spent, 0) + held) >= 4 * spend_limit)
        ORDER BY created_at DESC, id LIMIT ?`,
      [periods.day, periods.week, periods.month, ...values, BigInt(end.beforeMs), BigInt(end.most)],
    )
    return this.#withSpend(rows, periods)
  }

  /** Adds the spending to any number of keys, in one statement. */
  async #withSpend(found: readonly Row[], periods: PeriodStarts): Promise<readonly ListedKey<Key>[]> {
    if (found.length === 0) return []
    const condition = listedIds(this.#database.dialect, 'key_id')
    const rows = await this.#database.all(
      `SELECT key_id, period, spent FROM key_spend WHERE ${condition} AND ((period = 'total' AND start = '') OR (period = 'day' AND start = ?) OR (period = 'week' AND start = ?) OR (period = 'month' AND start = ?))`,
      [JSON.stringify(found.map((row) => text(row, 'id'))), periods.day, periods.week, periods.month],
    )
    const spent = new Map(rows.map((row) => [`${text(row, 'key_id')} ${text(row, 'period')}`, big(row, 'spent')]))
    return found.map((row) => {
      const [key, id] = [this.#read(row), text(row, 'id')]
      const of = (period: string): Micro => spent.get(`${id} ${period}`) ?? 0n
      return {
        key,
        externalId: textOrNull(row, 'external_id'),
        spend: {
          totalMicro: of('total'),
          dayMicro: of('day'),
          weekMicro: of('week'),
          monthMicro: of('month'),
          heldMicro: big(row, 'held') - big(row, 'set_aside'),
        },
      }
    })
  }

  async #conditions({ accountId, madeBy, disabled, search }: KeyFilter): Promise<Omit<FoundBy, 'common'>> {
    const found = await this.#words.finding('api_key', 'id', search ?? null)
    const own = conditionsOf([
      ['account_id = ?', accountId],
      ['made_by = ?', madeBy],
      ['disabled = ?', disabled === undefined ? undefined : bit(disabled)],
    ])
    return {
      conditions: ['deleted = 0', ...own.conditions, ...found.conditions],
      values: [...own.values, ...found.values],
    }
  }
}

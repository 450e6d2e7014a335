import { LOG_COLUMNS } from '../log/generation-row.ts'

/**
 * How each column is protected from changes made without Tollgate.
 *
 * - `sealed`: by the row's keyed hash, in this order. A new column is added at the end, and is null in older rows: a run
 *   of nulls at the end is left out of the hash.
 * - `chained`: by the hash that links the row to the one before it; the signed head names the end of the chain.
 * - `checked`: by the named invariants.
 * - `free`: by nothing, for the given reason. No money and no statement depends on it.
 */
export interface TableCover {
  readonly sealed?: readonly string[]
  readonly chained?: readonly string[]
  readonly checked?: Readonly<Record<string, string>>
  readonly free?: Readonly<Record<string, string>>
}

const SEAL = 'it is the seal'

/**
 * Every table that has money or decides about it, with each of its columns once. Hashes and the audit derive from this.
 */
export const COVERED = {
  account: {
    sealed: [
      'id',
      'entry_head',
      'log_rows',
      'log_dropped',
      'free_hour',
      'free_insured',
      'free_spent',
      'open_day',
      'status',
      'rate_limit',
      'allowed_models',
      'group_id',
      'markup',
      'spend_limit',
      'limit_reset',
      'limit_over',
      'limit_over_start',
    ],
    checked: { available: 'I2', held: 'I4', limit_start: 'I7', limit_spent: 'I7' },
    free: {
      name: 'a label',
      email: 'a label',
      default_model: 'which model, not at what price',
      created_at: 'shown only',
      low_balance: 'when its owner gets a notice, not what is charged',
      exact_holds: 'where its holds are decided, not what they are',
      seal: SEAL,
    },
  },
  account_group: {
    sealed: ['id', 'markup', 'created_at'],
    free: { name: 'a label', seal: SEAL },
  },
  api_key: {
    sealed: [
      'id',
      'account_id',
      'digest',
      'disabled',
      'deleted',
      'spend_limit',
      'limit_reset',
      'expires_at',
      'allowed_models',
      'created_at',
      'limit_over',
      'limit_over_start',
      'limits',
    ],
    checked: { held: 'I5' },
    free: {
      name: 'a label',
      label: 'a label',
      last_used_at: 'shown only',
      made_by: 'whose monthly limit a change of its own is compared with; what it may spend is sealed',
      seal: SEAL,
    },
  },
  key_secret: {
    sealed: ['id', 'key_id', 'digest', 'ends_at'],
    free: { seal: SEAL },
  },
  key_spend: {
    checked: { key_id: 'I7, I19', period: 'I7, I19', start: 'I7, I19', spent: 'I7, I19', excess: 'I19' },
  },
  hold: {
    sealed: [
      'id',
      'account_id',
      'key_id',
      'amount',
      'state',
      'price_version',
      'day',
      'week',
      'month',
      'placed_at',
      'ended_at',
      'charged',
      'shortfall',
      'booked',
      'subject',
    ],
    free: {
      lease_until: 'until when money is held, not whose or how much; an end that was too early is told by I10 and I14',
      node: 'who placed it',
      seal: SEAL,
    },
  },
  entry: {
    chained: ['debit', 'credit', 'amount', 'kind', 'ref', 'account_id', 'reason', 'actor', 'created_at', 'hash'],
    free: { id: 'the order of the chain' },
  },
  generation: {
    sealed: LOG_COLUMNS.names,
    free: { id: 'the order of the log', seal: SEAL },
  },
  usage_day: {
    free: { condition: 'how a sum is split by the prices that the rows of the log name' },
    checked: {
      account_id: 'I18',
      day: 'I18',
      key_id: 'I18',
      model: 'I18',
      provider: 'I18',
      requests: 'I18',
      input_tokens: 'I18',
      output_tokens: 'I18',
      revenue: 'I18',
      provider_cost: 'I18',
      insured: 'I18',
      shortfall: 'I18',
    },
  },
  app_day: {
    checked: {
      account_id: 'I18',
      day: 'I18',
      key_id: 'I18',
      model: 'I18',
      requests: 'I18',
      input_tokens: 'I18',
      output_tokens: 'I18',
      cost: 'I18',
    },
    free: {
      app: "the caller's own word",
      title: "the caller's own word",
      errors: 'shown only',
      saved: 'shown only',
      last_at: 'shown only',
    },
  },
  removed_day: {
    checked: {
      account_id: 'I18',
      day: 'I18',
      key_id: 'I18',
      model: 'I18',
      provider: 'I18',
      requests: 'I18, I20',
      input_tokens: 'I18',
      output_tokens: 'I18',
      revenue: 'I18',
      provider_cost: 'I18',
      insured: 'I18',
      shortfall: 'I18',
    },
  },
  booked_later: {
    checked: { account_id: 'I18', booked: 'I18', placed: 'I18', requests: 'I18', amount: 'I18' },
    free: { model: 'which model a line of the statement names, not what it comes to' },
  },
  statement_month: {
    sealed: ['account_id', 'month', 'timezone', 'ends_at', 'last_entry', 'opening', 'closing', 'closed_at'],
    free: { seal: SEAL },
  },
  event: {
    chained: ['at', 'actor', 'ip', 'action', 'object', 'before', 'after', 'hash'],
    free: { id: 'the order of the chain' },
  },
  event_head: {
    sealed: ['id', 'hash'],
    free: { seal: SEAL },
  },
  book: {
    free: { id: 'there is one', sealed_key: 'authenticated by the wrapping key' },
  },
  redeem_code: {
    sealed: ['id', 'digest', 'label', 'amount', 'uses_max', 'created_by', 'created_at', 'disabled', 'expires_at'],
    checked: { uses: 'I9' },
    free: { note: 'a label', seal: SEAL },
  },
  payment_order: {
    sealed: ['id', 'account_id', 'method', 'amount', 'currency', 'created_at', 'state', 'payment_id', 'paid_at'],
    free: {
      confirmation_url: 'where the customer pays',
      due_at: 'when it is asked for',
      checks: 'how often it was asked for',
      seal: SEAL,
    },
  },
  payment_refund: {
    sealed: ['id', 'order_id', 'account_id', 'amount', 'booked', 'at'],
    free: { seal: SEAL },
  },
  job: {
    sealed: [
      'id',
      'account_id',
      'key_id',
      'request_id',
      'model',
      'price_version',
      'hold',
      'created_at',
      'deadline',
      'status',
      'phase',
      'completed_at',
      'expires_at',
      'details',
    ],
    free: {
      request: 'sealed for itself',
      version: 'order of its moves',
      lease_owner: 'who works on it',
      lease_until: 'who works on it',
      progress: 'shown only',
      due_at: 'when it is looked at',
      seal: SEAL,
    },
  },
  log_kept: {
    sealed: ['id', 'before_at'],
    free: { seal: SEAL },
  },
  row_count: {
    sealed: ['name', 'rows'],
    free: { seal: SEAL },
  },
  rolled_up: {
    free: { generation: 'how far the sums go: a wrong one shows in them (I18)' },
  },
  row_journal: {
    free: {
      position: 'how far the rows of the journal are in their tables: a wrong one shows in them',
      mark: "which journal is this store's",
    },
  },
  catalog_version: {
    sealed: ['version', 'document', 'file_digest', 'created_at'],
    free: { credentials: 'authenticated by the wrapping key', seal: SEAL },
  },
} as const satisfies Readonly<Record<string, TableCover>>

/** Tables without money, each with the reason why it needs no protection. */
export const WITHOUT_MONEY: Readonly<Record<string, string>> = {
  schema_version: 'of the program',
  stored_file: 'bytes',
  stored_chunk: 'bytes',
  node: 'who lives',
  ip_block: 'who may not try keys',
  console_user: 'people',
  account_member: 'people',
  account_note: 'what operators write down, which decides nothing',
  account_invitation: 'people',
  setup_token: 'people',
  recovery_code: 'people',
  console_session: 'people',
  management_key: 'who may make keys, as a session may',
  admin_token: 'who may use the admin API, as a session may; the audit log has what each did',
  sign_in: 'people',
  idempotency_key: 'answers, sealed for themselves',
  kept_answer: 'how much they are: only the room for more depends on it',
  kept_response: 'answers, sealed for themselves',
  refusal: 'what was not done',
  refused_request: 'what was not done',
  generation_end_user: 'which rows of the log name an end user: their records say it',
  external_id: 'names that clients give to records',
  notice: 'what people are told: the books say it too',
  notice_channel: 'whom it is told',
  notice_delivery: 'which messages were sent',
  search_word: 'what finds a record, and decides nothing',
  search_due: 'which of these words are to be written',
  search_fill: 'how far they are written',
  entry_mark: 'numbers and balances of entries: each is checked against them (I2)',
}

/** Tables whose rows have a seal. */
export type SealedTable = {
  [Name in keyof typeof COVERED]: (typeof COVERED)[Name] extends { readonly sealed: readonly string[] } ? Name : never
}[keyof typeof COVERED]

export function sealedColumns(table: SealedTable): readonly string[] {
  return COVERED[table].sealed
}

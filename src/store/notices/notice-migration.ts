interface Words {
  readonly blob: string
  readonly clustered: string
}

/**
 * An occurrence (`notice`), a receiver (`notice_channel`), and a message to one (`notice_delivery`). A notice is
 * written in the transaction of its cause; `subject` keeps it from being written again, until it is cleared.
 */
export function noticeStatements({ blob, clustered }: Words): readonly string[] {
  return [
    'ALTER TABLE account ADD COLUMN low_balance BIGINT',
    `CREATE TABLE notice (
      id TEXT PRIMARY KEY, kind TEXT NOT NULL, account_id TEXT REFERENCES account(id), subject TEXT UNIQUE, clear_at BIGINT,
      at BIGINT NOT NULL, detail TEXT NOT NULL, channel_id TEXT, addressed_at BIGINT)${clustered}`,
    'CREATE INDEX notice_new ON notice (at) WHERE addressed_at IS NULL',
    'CREATE INDEX notice_age ON notice (at)',
    `CREATE TABLE notice_channel (
      id TEXT PRIMARY KEY, account_id TEXT REFERENCES account(id), type TEXT NOT NULL CHECK (type IN ('email','telegram','webhook')), target TEXT NOT NULL,
      secret ${blob}, kinds TEXT NOT NULL, language TEXT NOT NULL CHECK (language IN ('en','ru')), enabled BIGINT NOT NULL DEFAULT 1, created_at BIGINT NOT NULL)${clustered}`,
    'CREATE INDEX notice_channel_account ON notice_channel (account_id, created_at)',
    `CREATE TABLE notice_delivery (
      id TEXT PRIMARY KEY, notice_id TEXT NOT NULL REFERENCES notice(id), channel_id TEXT NOT NULL REFERENCES notice_channel(id) ON DELETE CASCADE,
      state TEXT NOT NULL CHECK (state IN ('pending','sent','dead')), attempts BIGINT NOT NULL DEFAULT 0, due_at BIGINT NOT NULL, lease_until BIGINT NOT NULL DEFAULT 0,
      error TEXT, created_at BIGINT NOT NULL, ended_at BIGINT, UNIQUE (notice_id, channel_id))${clustered}`,
    `CREATE INDEX notice_delivery_due ON notice_delivery (channel_id, due_at) WHERE state = 'pending'`,
    'CREATE INDEX notice_delivery_channel ON notice_delivery (channel_id, created_at)',
    'CREATE INDEX notice_delivery_state ON notice_delivery (state, created_at)',
  ]
}

/** A receiver of an account proves itself with a code; its digest waits here. */
export function noticeCodeStatements(): readonly string[] {
  return [
    'ALTER TABLE notice_channel ADD COLUMN code_hash TEXT',
    'ALTER TABLE notice_channel ADD COLUMN code_until BIGINT NOT NULL DEFAULT 0',
    'ALTER TABLE notice_channel ADD COLUMN code_tries BIGINT NOT NULL DEFAULT 0',
  ]
}

import type { Database } from '../database.ts'

/** Rows of one partition of the usage log on PostgreSQL: some 3 GB with its indexes, dropped whole when it expires. */
export const PART_ROWS = 5_000_000n
/** Partitions that exist before the first row needs them. */
export const PARTS_AHEAD = 2n

/** The schema with which both stores answer pages of a log of any length, and drop its oldest rows. */
export function logStatements(dialect: Database['dialect']): readonly string[] {
  return [
    // Rows are numbered without gaps by account; the first kept rows follow the dropped ones.
    'ALTER TABLE account ADD COLUMN log_dropped BIGINT NOT NULL DEFAULT 0 CHECK (log_dropped >= 0)',
    // Every dropped row ended before this time.
    'CREATE TABLE log_kept (id BIGINT PRIMARY KEY CHECK (id = 1), before_at BIGINT NOT NULL)',
    'INSERT INTO log_kept VALUES (1, 0)',
    ...(dialect === 'postgres' ? [PARTITION] : []),
    `CREATE INDEX generation_status ON generation (account_id, status, seq) WHERE status <> 'completed'`,
    `CREATE INDEX generation_kind ON generation (account_id, type, seq) WHERE type <> 'chat'`,
  ]
}

/** One more partition, from that number on. Only our own integers are put into the text. */
export function partStatements(first: bigint): readonly string[] {
  const table = `generation_${first}`
  const beyond = first + PART_ROWS
  return [
    `CREATE TABLE ${table} PARTITION OF generation FOR VALUES FROM (${first}) TO (${beyond})`,
    // A unique index over all partitions would have to contain the number; within one it need not, and numbers grow
    // with time.
    `CREATE UNIQUE INDEX ${table}_generation ON ${table} (generation_id)`,
    `CREATE UNIQUE INDEX ${table}_seq ON ${table} (account_id, seq)`,
  ]
}

/** The existing table becomes the first partition. */
const PARTITION = `DO $$
DECLARE
  newest BIGINT;
  bound BIGINT;
BEGIN
  SELECT COALESCE(MAX(id), 0) INTO newest FROM generation;
  bound := (newest / ${PART_ROWS} + 1) * ${PART_ROWS};
  ALTER TABLE generation ALTER COLUMN id DROP IDENTITY;
  ALTER TABLE generation RENAME TO generation_0;
  ALTER INDEX generation_pkey RENAME TO generation_0_pkey;
  ALTER INDEX generation_generation_id_key RENAME TO generation_0_generation;
  ALTER INDEX generation_account_id_seq_key RENAME TO generation_0_seq;
  DROP INDEX generation_request;
  ALTER INDEX generation_model RENAME TO generation_0_model;
  ALTER INDEX generation_key RENAME TO generation_0_key;
  ALTER INDEX generation_failed RENAME TO generation_0_failed;
  CREATE SEQUENCE generation_number;
  PERFORM setval('generation_number', newest + 1, false);
  CREATE TABLE generation (LIKE generation_0) PARTITION BY RANGE (id);
  ALTER TABLE generation ALTER COLUMN id SET DEFAULT nextval('generation_number');
  ALTER TABLE generation ADD PRIMARY KEY (id);
  EXECUTE format('ALTER TABLE generation ATTACH PARTITION generation_0 FOR VALUES FROM (MINVALUE) TO (%s)', bound);
  CREATE INDEX generation_request ON generation (request_id, id);
  CREATE INDEX generation_model ON generation (account_id, model, seq);
  CREATE INDEX generation_key ON generation (account_id, key_id, seq);
  CREATE INDEX generation_failed ON generation (account_id, seq) WHERE status <> 'completed';
  FOR ahead IN 1..${PARTS_AHEAD} LOOP
    EXECUTE format('CREATE TABLE generation_%s PARTITION OF generation FOR VALUES FROM (%s) TO (%s)', bound, bound, bound + ${PART_ROWS});
    EXECUTE format('CREATE UNIQUE INDEX generation_%s_generation ON generation_%s (generation_id)', bound, bound);
    EXECUTE format('CREATE UNIQUE INDEX generation_%s_seq ON generation_%s (account_id, seq)', bound, bound);
    bound := bound + ${PART_ROWS};
  END LOOP;
END $$`

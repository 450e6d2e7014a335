import type { Database } from '../database.ts'

/** Rows of an account's log whose models and keys are summed up together: a bit of a 64-bit number for each. */
export const BLOCK_ROWS = 64
/** Indexes whose questions the blocks answer once all older rows are in them. */
export const REPLACED_INDEXES = ['generation_model', 'generation_key']

/**
 * Each account's log in blocks of `BLOCK_ROWS` numbers: which of the rows have a model, and which a key. The row that
 * completes a block writes it, whoever inserts that row. An index of all rows by model would change a page of each
 * account with each charge.
 */
export function blockStatements(dialect: Database['dialect'], clustered: string): readonly string[] {
  const text = insertBlocks(dialect, 'NEW')
  return [
    `CREATE TABLE log_block (
      account_id TEXT NOT NULL, field TEXT NOT NULL, value TEXT NOT NULL, block BIGINT NOT NULL, bits BIGINT NOT NULL, rows BIGINT NOT NULL,
      PRIMARY KEY (account_id, field, value, block))${clustered}`,
    ...(dialect === 'sqlite'
      ? [
          `CREATE TRIGGER generation_block AFTER INSERT ON generation WHEN NEW.seq % ${BLOCK_ROWS} = 0 BEGIN ${text}; END`,
        ]
      : [
          `CREATE FUNCTION generation_block() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${text}; RETURN NULL; END $$`,
          `CREATE TRIGGER generation_block AFTER INSERT ON generation FOR EACH ROW WHEN (NEW.seq % ${BLOCK_ROWS} = 0) EXECUTE FUNCTION generation_block()`,
        ]),
    // Older rows up to `last` are not in blocks yet, but for those up to `done`.
    'CREATE TABLE log_block_fill (id BIGINT PRIMARY KEY CHECK (id = 1), done BIGINT NOT NULL, last BIGINT NOT NULL)',
    'INSERT INTO log_block_fill SELECT 1, 0, COALESCE(MAX(id), 0) FROM generation',
  ]
}

/** Writes the blocks of rows that complete one: of the row `NEW` of a trigger, or of those between two numbers. */
export function insertBlocks(dialect: Database['dialect'], complete: 'NEW' | 'numbers'): string {
  const sums = dialect === 'sqlite' ? SUM_OF_BITS : BITS_TOGETHER
  const table = complete === 'NEW' ? '(SELECT NEW.account_id AS account_id, NEW.seq AS seq)' : 'generation'
  const condition = complete === 'NEW' ? '' : `last.id > ? AND last.id <= ? AND last.seq % ${BLOCK_ROWS} = 0 AND `
  return `INSERT INTO log_block (account_id, field, value, block, bits, rows)
    SELECT g.account_id, f.field, CASE f.field WHEN 'model' THEN g.model ELSE g.key_id END AS named, (g.seq - 1) / ${BLOCK_ROWS} AS block, ${sums}, COUNT(*)
    FROM ${table} AS last CROSS JOIN generation g CROSS JOIN (SELECT 'model' AS field UNION ALL SELECT 'key') AS f
    WHERE ${condition}g.account_id = last.account_id AND g.seq > last.seq - ${BLOCK_ROWS} AND g.seq <= last.seq
    GROUP BY g.account_id, f.field, named, (g.seq - 1) / ${BLOCK_ROWS} ON CONFLICT DO NOTHING`
}

const SUM_OF_BITS = `SUM(1 << ((g.seq - 1) % ${BLOCK_ROWS}))`
const BITS_TOGETHER = `BIT_OR(1::int8 << ((g.seq - 1) % ${BLOCK_ROWS})::int)`
/** The place of a row in its block. */
const PLACE = `CAST((g.seq - 1) % ${BLOCK_ROWS} AS INT)`

/** Rows since a time that a filter by model or key would not find, since the block that should name them does not. */
export const MISSING_IN_BLOCKS = `SELECT 'generation ' || g.generation_id || ': its block does not name it' AS what FROM generation g
    JOIN account a ON a.id = g.account_id JOIN log_block_fill f ON f.done >= f.last
    LEFT JOIN log_block m ON m.account_id = g.account_id AND m.field = 'model' AND m.value = g.model AND m.block = (g.seq - 1) / ${BLOCK_ROWS}
    LEFT JOIN log_block k ON k.account_id = g.account_id AND k.field = 'key' AND k.value = g.key_id AND k.block = (g.seq - 1) / ${BLOCK_ROWS}
  WHERE g.created_at >= ? AND (g.seq - 1) / ${BLOCK_ROWS} * ${BLOCK_ROWS} >= a.log_dropped AND ((g.seq - 1) / ${BLOCK_ROWS} + 1) * ${BLOCK_ROWS} <= a.log_rows
    AND (COALESCE(m.bits, 0) >> ${PLACE}) & (COALESCE(k.bits, 0) >> ${PLACE}) & 1 = 0`

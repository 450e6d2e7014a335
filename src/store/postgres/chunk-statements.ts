/**
 * Only nodes that share a database keep bytes in it. Pictures and videos are compressed already: compressing them again
 * would cost CPU for nothing.
 */
export const CHUNK_STATEMENTS: readonly string[] = [
  'CREATE TABLE stored_chunk (content TEXT NOT NULL, seq BIGINT NOT NULL, data BYTEA NOT NULL, created_at BIGINT NOT NULL, PRIMARY KEY (content, seq))',
  'ALTER TABLE stored_chunk ALTER COLUMN data SET STORAGE EXTERNAL',
  'CREATE INDEX stored_chunk_age ON stored_chunk (created_at)',
]

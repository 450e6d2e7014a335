/** Replaced secrets of keys, each until it ends. */
export function secretStatements({
  blob,
  clustered,
}: {
  readonly blob: string
  readonly clustered: string
}): readonly string[] {
  return [
    `CREATE TABLE key_secret (
          id TEXT PRIMARY KEY, key_id TEXT NOT NULL REFERENCES api_key(id), digest ${blob} NOT NULL UNIQUE, ends_at BIGINT NOT NULL, seal TEXT NOT NULL)${clustered}`,
    'CREATE INDEX key_secret_key ON key_secret (key_id)',
  ]
}

/** Groups of accounts, and the markups of both. */
export function groupStatements({ clustered }: { readonly clustered: string }): readonly string[] {
  return [
    `CREATE TABLE account_group (id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, markup TEXT NOT NULL, created_at BIGINT NOT NULL, seal TEXT NOT NULL)${clustered}`,
    'ALTER TABLE account ADD COLUMN group_id TEXT REFERENCES account_group(id)',
    'ALTER TABLE account ADD COLUMN markup TEXT',
    'CREATE INDEX account_group_members ON account (group_id) WHERE group_id IS NOT NULL',
  ]
}

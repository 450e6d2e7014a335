/**
 * Marks in each account's ledger: the number and the balance of the account's entries up to one of them. Entries never
 * change, so neither do marks; they are made after the entries, and a charge writes none.
 */
export function markStatements(clustered: string): readonly string[] {
  return [
    `CREATE TABLE entry_mark (
      account_id TEXT NOT NULL REFERENCES account(id), nth BIGINT NOT NULL, last_id BIGINT NOT NULL, balance BIGINT NOT NULL,
      PRIMARY KEY (account_id, nth))${clustered}`,
  ]
}

import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { direct } from '../harness/postgres.ts'
import type { OpenedBelow } from './append-only.ts'

const DROP_FOREIGN_KEYS = `DO $$ DECLARE c RECORD; BEGIN
  FOR c IN SELECT conrelid::regclass AS place, conname FROM pg_constraint WHERE contype = 'f' AND connamespace = current_schema()::regnamespace LOOP EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', c.place, c.conname); END LOOP; END $$`

/** The store of a PostgreSQL database, and what somebody can do who is connected to it. */
export async function openedBelow(url: string, open: (url: string) => Promise<Store>): Promise<OpenedBelow> {
  const store = await open(url)
  return {
    store,
    isOpen: () => true,
    openAgain: (keyWrap) => openStore({ dataDir: '', databaseUrl: url, keyWrap }),
    columns: () => columnsOf(url),
    below: async (statement) => void (await direct(url, statement)),
    dropTriggers: [
      ...['entry', 'event'].map((table) => `DROP TRIGGER ${table}_append_only ON ${table}`),
      DROP_FOREIGN_KEYS,
    ],
  }
}

async function columnsOf(url: string): ReturnType<OpenedBelow['columns']> {
  const rows = await direct(
    url,
    'SELECT table_name AS name, column_name, data_type AS type FROM information_schema.columns WHERE table_schema = current_schema()',
  )
  const places = rows.map((row) => ({
    table: String(row['name']),
    column: String(row['column_name']),
    type:
      row['type'] === 'bigint' ? ('whole' as const) : row['type'] === 'bytea' ? ('bytes' as const) : ('text' as const),
  }))
  // One query for all, since each is a separate connection.
  const some = (from: string): string => `EXISTS (SELECT 1 FROM ${from})`
  const found = await direct(
    url,
    places
      .map(
        ({ table, column }, index) =>
          `SELECT ${index} AS place, ${some(table)} AS filled, ${some(`${table} WHERE "${column}" IS NOT NULL`)} AS valued`,
      )
      .join(' UNION ALL '),
  )
  const looks = new Map(found.map((row) => [Number(row['place']), row]))
  return places.map((place, index) => ({
    ...place,
    filled: looks.get(index)?.['filled'] === true,
    valued: looks.get(index)?.['valued'] === true,
  }))
}

import type { Database } from './database.ts'

/** A change of the schema after the one of the `.sql` files. A store has each once, in the order of their versions. */
export interface Migration {
  /** From 2 on, without gaps. */
  readonly version: number
  readonly name: string
  /**
   * The oldest program that works with this schema, named by the newest version that it knows; absent = only programs
   * that know this version. During a rolling restart the previous program still runs, so a column that it uses is
   * removed one release later.
   */
  readonly least?: number
  /**
   * They change one busy table at most, since a migration would keep the first one locked while it waits for the
   * second. Released statements never change: a store that has run them refuses different ones.
   */
  readonly statements: Readonly<Record<Database['dialect'], readonly string[]>>
}

/** Records that are there already; null = there are none, or the words of all are written. */
const FILL = `INSERT INTO search_fill (kind, place) SELECT 'account', (SELECT '' FROM account LIMIT 1)
  UNION ALL SELECT 'api_key', (SELECT '' FROM api_key LIMIT 1)
  UNION ALL SELECT 'console_user', (SELECT '' FROM console_user LIMIT 1)`

/**
 * Words of names, e-mails and ids, by which records are found: the words, and records whose words are still to be
 * written.
 */
const SEARCH_TABLES: Migration['statements'] = {
  sqlite: [
    'CREATE TABLE search_word (kind TEXT NOT NULL, word TEXT NOT NULL, object_id TEXT NOT NULL, PRIMARY KEY (kind, word, object_id)) WITHOUT ROWID',
    'CREATE INDEX search_word_object ON search_word (kind, object_id, word)',
    'CREATE TABLE search_due (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, object_id TEXT NOT NULL)',
    'CREATE TABLE search_fill (kind TEXT PRIMARY KEY, place TEXT) WITHOUT ROWID',
    FILL,
  ],
  postgres: [
    // Ranges of beginnings need the order of bytes.
    'CREATE TABLE search_word (kind TEXT NOT NULL, word TEXT COLLATE "C" NOT NULL, object_id TEXT NOT NULL, PRIMARY KEY (kind, word, object_id))',
    'CREATE INDEX search_word_object ON search_word (kind, object_id, word)',
    'CREATE TABLE search_due (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, kind TEXT NOT NULL, object_id TEXT NOT NULL)',
    'CREATE TABLE search_fill (kind TEXT PRIMARY KEY, place TEXT)',
    FILL,
    'CREATE FUNCTION search_note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO search_due (kind, object_id) VALUES (TG_TABLE_NAME, NEW.id); RETURN NULL; END $$',
    `CREATE FUNCTION search_note_named() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE named external_id := COALESCE(NEW, OLD); BEGIN INSERT INTO search_due (kind, object_id) SELECT kind, named.object_id FROM search_fill WHERE kind = CASE named.kind WHEN 'key' THEN 'api_key' WHEN 'user' THEN 'console_user' ELSE named.kind END; RETURN NULL; END $$`,
  ],
}

/** A note of each record whose texts change, made where they change: a program that knows nothing of it makes it too. */
function notes(table: string, columns: string): Migration['statements'] {
  const text = `BEGIN INSERT INTO search_due (kind, object_id) VALUES ('${table}', NEW.id); END`
  return {
    sqlite: [
      `CREATE TRIGGER ${table}_search_new AFTER INSERT ON ${table} ${text}`,
      `CREATE TRIGGER ${table}_search AFTER UPDATE OF ${columns} ON ${table} ${text}`,
    ],
    postgres: [
      `CREATE TRIGGER ${table}_search AFTER INSERT OR UPDATE OF ${columns} ON ${table} FOR EACH ROW EXECUTE FUNCTION search_note()`,
    ],
  }
}

const noteNamed = (by: string): string =>
  `BEGIN INSERT INTO search_due (kind, object_id) SELECT kind, ${by}.object_id FROM search_fill WHERE kind = CASE ${by}.kind WHEN 'key' THEN 'api_key' WHEN 'user' THEN 'console_user' ELSE ${by}.kind END; END`
const [NOTE_NEW, NOTE_OLD] = [noteNamed('NEW'), noteNamed('OLD')]
const NAMED_NOTES: Migration['statements'] = {
  sqlite: [
    `CREATE TRIGGER external_id_search_new AFTER INSERT ON external_id ${NOTE_NEW}`,
    `CREATE TRIGGER external_id_search AFTER DELETE ON external_id ${NOTE_OLD}`,
  ],
  postgres: [
    'CREATE TRIGGER external_id_search AFTER INSERT OR DELETE ON external_id FOR EACH ROW EXECUTE FUNCTION search_note_named()',
  ],
}

/** Requests of a minute's refusals that are not the newest of them, so that each is found by its id. */
const REFUSED_IDS = [
  'CREATE TABLE refused_request (refusal_id TEXT NOT NULL REFERENCES refusal(id) ON DELETE CASCADE, request_id TEXT NOT NULL, PRIMARY KEY (refusal_id, request_id))',
  'CREATE INDEX refused_request_id ON refused_request (request_id)',
]

/** The migrations after the baseline. */
export const LATER: readonly Migration[] = [
  { version: 2, name: 'words of names', least: 1, statements: SEARCH_TABLES },
  { version: 3, name: 'words of accounts', least: 1, statements: notes('account', 'name, email') },
  { version: 4, name: 'words of keys', least: 1, statements: notes('api_key', 'name, label') },
  { version: 5, name: 'words of people', least: 1, statements: notes('console_user', 'name, email') },
  { version: 6, name: 'words of external ids', least: 1, statements: NAMED_NOTES },
  { version: 7, name: 'ids of refused requests', least: 1, statements: { sqlite: REFUSED_IDS, postgres: REFUSED_IDS } },
]

import { integer, text, textOrNull, type Database, type Row } from './database.ts'
import type { AdministratorRecord, AdministratorStore } from './store.ts'

const SELECT = 'SELECT id, email, password_hash, created_at FROM administrator'

function readAdministrator(row: Row): AdministratorRecord {
  return { id: text(row, 'id'), email: text(row, 'email'), passwordHash: textOrNull(row, 'password_hash'), createdAtMs: integer(row, 'created_at') }
}

export class SqlAdministrators implements AdministratorStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async count(): Promise<number> {
    const [row] = await this.#database.all('SELECT COUNT(*) AS total FROM administrator WHERE password_hash IS NOT NULL')
    return row === undefined ? 0 : integer(row, 'total')
  }

  async create(administrator: AdministratorRecord): Promise<AdministratorRecord | null> {
    const added = await this.#database.run('INSERT INTO administrator (id, email, password_hash, created_at) VALUES (?,?,?,?) ON CONFLICT (email) DO NOTHING', [
      administrator.id, administrator.email, administrator.passwordHash, BigInt(administrator.createdAtMs),
    ])
    return added === 0 ? null : administrator
  }

  async findByEmail(email: string): Promise<AdministratorRecord | null> {
    const [row] = await this.#database.all(`${SELECT} WHERE email = ?`, [email])
    return row === undefined ? null : readAdministrator(row)
  }

  async setPassword(id: string, passwordHash: string): Promise<void> {
    await this.#database.run('UPDATE administrator SET password_hash = ? WHERE id = ?', [passwordHash, id])
  }

  async putSetupToken(token: Parameters<AdministratorStore['putSetupToken']>[0]): Promise<void> {
    await this.#database.run('INSERT INTO setup_token (hash, administrator_id, expires_at) VALUES (?,?,?)', [token.hash, token.administratorId, BigInt(token.expiresAtMs)])
  }

  async claimSetupToken(hash: string, nowMs: number): Promise<{ readonly administratorId: string | null } | null> {
    return this.#database.transaction(async (sql) => {
      const [row] = await sql.all('SELECT administrator_id FROM setup_token WHERE hash = ? AND expires_at > ?', [hash, BigInt(nowMs)])
      // The delete decides who used it: of two claims at once only one removes the row.
      const claimed = await sql.run('DELETE FROM setup_token WHERE hash = ?', [hash])
      return row === undefined || claimed === 0 ? null : { administratorId: textOrNull(row, 'administrator_id') }
    })
  }

  async createSession(session: Parameters<AdministratorStore['createSession']>[0]): Promise<void> {
    await this.#database.run('INSERT INTO admin_session (hash, administrator_id, expires_at) VALUES (?,?,?)', [session.hash, session.administratorId, BigInt(session.expiresAtMs)])
  }

  async findSession(hash: string, nowMs: number): Promise<AdministratorRecord | null> {
    const [row] = await this.#database.all(
      'SELECT administrator.id AS id, email, password_hash, created_at FROM admin_session JOIN administrator ON administrator.id = administrator_id WHERE hash = ? AND expires_at > ?',
      [hash, BigInt(nowMs)],
    )
    return row === undefined ? null : readAdministrator(row)
  }

  async deleteSession(hash: string): Promise<void> {
    await this.#database.run('DELETE FROM admin_session WHERE hash = ?', [hash])
  }
}

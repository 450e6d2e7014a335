import { createHash, randomBytes } from 'node:crypto'
import type { OperatorRole } from '../../tables/scopes.ts'
import { readEmail } from '../../base/mail-address.ts'
import { reasonError } from '../../base/refusals.ts'
import type { Clock } from '../../base/clock.ts'
import type { IdSource } from '../../base/ids.ts'
import type { UserRecord, UserStore } from '../../store/people/user-store.ts'
import { HOUR_MS } from '../../base/time.ts'

const SETUP_MS = HOUR_MS
const TOKEN_BYTES = 32

export interface SetupLinkPorts {
  readonly users: UserStore
  readonly clock: Clock
  readonly ids: IdSource
}

/**
 * One-time links with which a person chooses a password. The store keeps only their hashes; the cabinet uses them up.
 */
export class SetupLinks {
  readonly #ports: SetupLinkPorts

  constructor(ports: SetupLinkPorts) {
    this.#ports = ports
  }

  /** A token for the first owner; null = there is an owner already. */
  async firstToken(): Promise<string | null> {
    return (await this.#ports.users.owners()) > 0 ? null : this.#token(null, false)
  }

  /**
   * Makes an operator without a password, and a token to choose one. While its link is unused, another may be
   * requested.
   */
  async invite(
    given: string,
    operatorRole: OperatorRole,
  ): Promise<{ readonly id: string; readonly email: string; readonly token: string }> {
    const email = readEmail(given)
    const { users, ids, clock } = this.#ports
    const created = await users.create({
      id: `usr_${ids.letters(16)}`,
      email,
      name: email,
      role: 'admin',
      operatorRole,
      accountId: null,
      passwordHash: null,
      language: null,
      oidc: null,
      createdAtMs: clock.now(),
    })
    const user = created ?? (await users.findByEmail(email))
    if (user === null || user.operatorRole !== operatorRole || user.passwordHash !== null)
      throw reasonError('email_taken', { email }, { says: `A user with the e-mail '${email}' exists` })
    return { id: user.id, email, token: await this.#token(user.id, false) }
  }

  /** A token with which a user sets a new password. */
  newPassword(user: UserRecord, clearTotp: boolean): Promise<string> {
    return this.#token(user.id, clearTotp)
  }

  async #token(userId: string | null, clearTotp: boolean): Promise<string> {
    const token = randomBytes(TOKEN_BYTES).toString('base64url')
    await this.#ports.users.putSetupToken({
      hash: createHash('sha256').update(token).digest('hex'),
      userId,
      clearTotp,
      expiresAtMs: this.#ports.clock.now() + SETUP_MS,
    })
    return token
  }
}

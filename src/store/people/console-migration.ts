import type { Database } from '../database.ts'

interface Words {
  readonly blob: string
  readonly serial: string
  readonly clustered: string
}

/** An app is identified by its URL, else by its title; empty = none (wire.md D-11.1). */
export const APP_OF_RECORD = `COALESCE(json_extract(g.record, '$.appUrl'), json_extract(g.record, '$.appTitle'), '')`

/**
 * People of the console, their sessions and sign-ins; codes, payments; sums by app. Administrators without accounts
 * become users.
 */
export function consoleStatements(dialect: Database['dialect'], { blob, serial, clustered }: Words): readonly string[] {
  return [
    `CREATE TABLE console_user (
      id TEXT PRIMARY KEY, email TEXT NOT NULL UNIQUE, name TEXT NOT NULL, role TEXT NOT NULL CHECK (role IN ('user','admin')), account_id TEXT REFERENCES account(id),
      password_hash TEXT, disabled BIGINT NOT NULL DEFAULT 0, timezone TEXT, language TEXT CHECK (language IN ('en','ru')), theme TEXT NOT NULL DEFAULT 'auto' CHECK (theme IN ('light','dark','auto')),
      oidc_issuer TEXT, oidc_subject TEXT, totp_seed ${blob}, totp_enabled BIGINT NOT NULL DEFAULT 0, totp_step BIGINT NOT NULL DEFAULT 0, last_sign_in_at BIGINT,
      created_at BIGINT NOT NULL, UNIQUE (oidc_issuer, oidc_subject))`,
    `CREATE INDEX console_user_account ON console_user (account_id)`,
    `INSERT INTO console_user (id, email, name, role, password_hash, created_at) SELECT id, LOWER(email), email, 'admin', password_hash, created_at FROM administrator`,
    'DROP TABLE admin_session',
    'DROP TABLE setup_token',
    'DROP TABLE administrator',
    `CREATE TABLE setup_token (hash TEXT PRIMARY KEY, user_id TEXT REFERENCES console_user(id), clear_totp BIGINT NOT NULL DEFAULT 0, expires_at BIGINT NOT NULL)`,
    `CREATE TABLE recovery_code (user_id TEXT NOT NULL REFERENCES console_user(id), hash TEXT NOT NULL, PRIMARY KEY (user_id, hash))${clustered}`,
    `CREATE TABLE console_session (
      hash TEXT PRIMARY KEY, id TEXT NOT NULL UNIQUE, user_id TEXT NOT NULL REFERENCES console_user(id), ip TEXT NOT NULL, user_agent TEXT NOT NULL,
      created_at BIGINT NOT NULL, last_seen_at BIGINT NOT NULL, idle_ms BIGINT NOT NULL, ends_at BIGINT NOT NULL)${clustered}`,
    `CREATE INDEX console_session_user ON console_session (user_id)`,
    `CREATE TABLE sign_in (
      id ${serial}, at BIGINT NOT NULL, email TEXT NOT NULL, user_id TEXT, ip TEXT NOT NULL, ip_key TEXT NOT NULL, user_agent TEXT NOT NULL, method TEXT NOT NULL,
      outcome TEXT NOT NULL CHECK (outcome IN ('succeeded','failed')))`,
    `CREATE INDEX sign_in_email ON sign_in (email, at)`,
    `CREATE INDEX sign_in_ip ON sign_in (ip_key, at)`,
    `CREATE INDEX sign_in_user ON sign_in (user_id, id)`,
    `CREATE TABLE redeem_code (
      id TEXT PRIMARY KEY, digest ${blob} NOT NULL UNIQUE, label TEXT NOT NULL, amount BIGINT NOT NULL CHECK (amount > 0), uses_max BIGINT NOT NULL, uses BIGINT NOT NULL DEFAULT 0,
      expires_at BIGINT, note TEXT, disabled BIGINT NOT NULL DEFAULT 0, created_by TEXT NOT NULL, created_at BIGINT NOT NULL, CHECK (uses >= 0 AND uses <= uses_max))`,
    `CREATE TABLE payment_order (
      id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account(id), method TEXT NOT NULL, amount BIGINT NOT NULL CHECK (amount > 0), currency TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('pending','paid','cancelled')), payment_id TEXT, confirmation_url TEXT, created_at BIGINT NOT NULL, paid_at BIGINT, UNIQUE (method, payment_id))`,
    `CREATE INDEX payment_order_account ON payment_order (account_id, created_at)`,
    // Finds credits without reading the charges between them.
    `CREATE INDEX entry_money ON entry (account_id, id) WHERE kind <> 'charge'`,
    `CREATE INDEX generation_model ON generation (account_id, model, seq)`,
    `CREATE INDEX generation_key ON generation (account_id, key_id, seq)`,
    `CREATE INDEX generation_failed ON generation (account_id, seq) WHERE status <> 'completed'`,
    `CREATE TABLE app_day (
      account_id TEXT NOT NULL, day TEXT NOT NULL, key_id TEXT NOT NULL, model TEXT NOT NULL, app TEXT NOT NULL, title TEXT, requests BIGINT NOT NULL, errors BIGINT NOT NULL,
      input_tokens BIGINT NOT NULL, output_tokens BIGINT NOT NULL, cost BIGINT NOT NULL, last_at BIGINT NOT NULL, PRIMARY KEY (account_id, day, key_id, model, app))${clustered}`,
    backfill(dialect),
  ]
}

/** The sums of earlier log rows; rows that the embedded store has not rolled up yet follow with its next roll-up. */
function backfill(dialect: Database['dialect']): string {
  const sqlite = dialect === 'sqlite'
  const field = (name: string): string =>
    sqlite ? `json_extract(g.record, '$.${name}')` : `(g.record::json->>'${name}')`
  const app = `COALESCE(${field('appUrl')}, ${field('appTitle')}, '')`
  return `INSERT INTO app_day (account_id, day, key_id, model, app, title, requests, errors, input_tokens, output_tokens, cost, last_at)
    SELECT g.account_id, h.day, g.key_id, g.model, ${app}, MAX(${field('appTitle')}), COUNT(*), SUM(CASE WHEN g.status = 'error' THEN 1 ELSE 0 END),
      SUM(g.input_tokens), SUM(g.output_tokens), SUM(g.cost), MAX(g.ended_at)
    FROM generation g JOIN hold h ON h.id = g.generation_id ${sqlite ? 'WHERE g.id <= (SELECT generation FROM rolled_up)' : ''}
    GROUP BY g.account_id, h.day, g.key_id, g.model, ${app}`
}

/** Named tokens of the admin API, and the role of an operator. */
export function adminTokenStatements({ blob, clustered }: Words): readonly string[] {
  return [
    `CREATE TABLE admin_token (
          id TEXT PRIMARY KEY, name TEXT NOT NULL, digest ${blob} NOT NULL UNIQUE, label TEXT NOT NULL, scopes TEXT NOT NULL, created_by TEXT NOT NULL,
          created_at BIGINT NOT NULL, expires_at BIGINT, revoked_at BIGINT, last_used_at BIGINT)${clustered}`,
    'CREATE UNIQUE INDEX admin_token_name ON admin_token (name) WHERE revoked_at IS NULL',
    `ALTER TABLE console_user ADD COLUMN operator_role TEXT CHECK (operator_role IN ('owner','administrator','billing','support','read_only'))`,
  ]
}

/**
 * People who were invited to an account. Who made an account has no row: an older program knows only its
 * `console_user.account_id`, and so lets none of them in.
 */
export function memberStatements({ clustered }: Words): readonly string[] {
  const columns = `role TEXT NOT NULL CHECK (role IN ('owner','member','billing')), monthly_limit BIGINT CHECK (monthly_limit >= 0)`
  return [
    `CREATE TABLE account_member (
      account_id TEXT NOT NULL REFERENCES account(id), user_id TEXT NOT NULL REFERENCES console_user(id), ${columns}, added_at BIGINT NOT NULL,
      PRIMARY KEY (account_id, user_id))${clustered}`,
    'CREATE INDEX account_member_user ON account_member (user_id)',
    `CREATE TABLE account_invitation (
      id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, account_id TEXT NOT NULL REFERENCES account(id), ${columns}, email TEXT,
      created_by TEXT NOT NULL, created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL)${clustered}`,
    'CREATE INDEX account_invitation_account ON account_invitation (account_id, created_at)',
    'ALTER TABLE console_session ADD COLUMN account_id TEXT',
    'ALTER TABLE api_key ADD COLUMN made_by TEXT',
    'CREATE INDEX api_key_made_by ON api_key (made_by) WHERE made_by IS NOT NULL',
  ]
}

-- The schema of a store in PostgreSQL. sqlite-schema.sql has the same tables for the embedded store.
--
-- Amounts are micro-rubles, times are Unix milliseconds, days are local dates such as 2026-11-27, and yes and no are 1
-- and 0. A digest or hash of a secret is stored, never the secret. A seal proves that only Tollgate has written the
-- row; it is empty until the first start makes the key of the seals. A statement ends with a semicolon at the end of a
-- line, and only the first line of a statement is not indented.

-- Accounts and their keys

-- Customers that share a markup.
CREATE TABLE account_group (
  id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, markup TEXT NOT NULL, created_at BIGINT NOT NULL, seal TEXT NOT NULL
);

-- A customer: the balance, its limits, and the ends of its ledger and its log.
CREATE TABLE account (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, email TEXT,
  status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active','deactivated','locked')),
  group_id TEXT REFERENCES account_group(id), markup TEXT, default_model TEXT, allowed_models TEXT, rate_limit TEXT,
  available BIGINT NOT NULL DEFAULT 0 CHECK (available >= 0), held BIGINT NOT NULL DEFAULT 0 CHECK (held >= 0),
  -- Below this balance the account's channels get a notice.
  low_balance BIGINT,
  -- 1 = the database decides each hold, and no node has an allowance.
  exact_holds BIGINT NOT NULL DEFAULT 0,
  -- What all keys may spend in a period; the newest period with a sum, such as 'month 2026-11-01'; and that sum.
  spend_limit BIGINT CHECK (spend_limit >= 0), limit_reset TEXT CHECK (limit_reset IN ('daily','weekly','monthly')),
  limit_start TEXT, limit_spent BIGINT NOT NULL DEFAULT 0 CHECK (limit_spent >= 0),
  -- What was spent and held above a lowered limit, and the period in which it was lowered.
  limit_over BIGINT, limit_over_start TEXT,
  -- The hour whose free answers are counted, and what was insured and spent in it.
  free_hour BIGINT NOT NULL DEFAULT 0, free_insured BIGINT NOT NULL DEFAULT 0, free_spent BIGINT NOT NULL DEFAULT 0,
  -- Rows of the log are numbered without gaps; those up to log_dropped are removed.
  log_rows BIGINT NOT NULL DEFAULT 0, log_dropped BIGINT NOT NULL DEFAULT 0 CHECK (log_dropped >= 0),
  -- The hash of the account's newest entry.
  entry_head TEXT NOT NULL DEFAULT '',
  -- The first day that is not in a closed month; empty = no month is closed.
  open_day TEXT NOT NULL DEFAULT '',
  created_at BIGINT NOT NULL, seal TEXT NOT NULL DEFAULT ''
);
CREATE INDEX account_created ON account (created_at DESC, id);
CREATE INDEX account_name ON account (lower(name COLLATE "C"), id DESC);
CREATE INDEX account_group_members ON account (group_id) WHERE group_id IS NOT NULL;

-- A secret that pays for requests from its account.
CREATE TABLE api_key (
  id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account(id), name TEXT NOT NULL,
  digest BYTEA NOT NULL UNIQUE, label TEXT NOT NULL,
  -- The person who made it; null = the account, a program or the operator.
  made_by TEXT,
  disabled BIGINT NOT NULL DEFAULT 0, deleted BIGINT NOT NULL DEFAULT 0, allowed_models TEXT,
  limits TEXT, held BIGINT NOT NULL DEFAULT 0 CHECK (held >= 0), spend_limit BIGINT CHECK (spend_limit >= 0),
  limit_reset TEXT CHECK (limit_reset IN ('daily','weekly','monthly')),
  -- As in account.
  limit_over BIGINT, limit_over_start TEXT,
  created_at BIGINT NOT NULL, expires_at BIGINT, last_used_at BIGINT,
  seal TEXT NOT NULL DEFAULT ''
);
CREATE INDEX api_key_account ON api_key (account_id, created_at);
CREATE INDEX api_key_made_by ON api_key (made_by) WHERE made_by IS NOT NULL;

-- A replaced secret of a key, which is valid for a while longer.
CREATE TABLE key_secret (
  id TEXT PRIMARY KEY, key_id TEXT NOT NULL REFERENCES api_key(id), digest BYTEA NOT NULL UNIQUE,
  ends_at BIGINT NOT NULL, seal TEXT NOT NULL
);
CREATE INDEX key_secret_key ON key_secret (key_id);

-- What a key has spent in each period; excess = what charges took beyond their holds.
CREATE TABLE key_spend (
  key_id TEXT NOT NULL REFERENCES api_key(id), period TEXT NOT NULL, start TEXT NOT NULL,
  spent BIGINT NOT NULL DEFAULT 0 CHECK (spent >= 0), excess BIGINT NOT NULL DEFAULT 0 CHECK (excess >= 0),
  PRIMARY KEY (key_id, period, start)
);

-- A secret that can make and change keys of its account, and cannot pay for requests.
CREATE TABLE management_key (
  id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account(id), name TEXT NOT NULL,
  digest BYTEA NOT NULL UNIQUE, label TEXT NOT NULL, made_by TEXT, created_at BIGINT NOT NULL, expires_at BIGINT,
  last_used_at BIGINT
);
CREATE INDEX management_key_account ON management_key (account_id, created_at);

-- Ids that clients give to records of each kind.
CREATE TABLE external_id (
  kind TEXT NOT NULL, name TEXT NOT NULL, object_id TEXT NOT NULL,
  PRIMARY KEY (kind, name),
  UNIQUE (kind, object_id)
);

-- The ledger

-- Money set aside for one request, and how that ended.
CREATE TABLE hold (
  id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account(id), key_id TEXT NOT NULL REFERENCES api_key(id),
  amount BIGINT NOT NULL CHECK (amount >= 0),
  state TEXT NOT NULL CHECK (state IN ('open','settled','voided','expired','settled_late')),
  price_version BIGINT NOT NULL, subject TEXT NOT NULL,
  -- The periods in which the hold was placed.
  day TEXT NOT NULL, week TEXT NOT NULL, month TEXT NOT NULL,
  -- The day of its charge in statements; empty = the day on which it was placed.
  booked TEXT NOT NULL DEFAULT '',
  node TEXT NOT NULL, lease_until BIGINT NOT NULL, placed_at BIGINT NOT NULL,
  ended_at BIGINT, charged BIGINT CHECK (charged >= 0), shortfall BIGINT CHECK (shortfall >= 0),
  seal TEXT NOT NULL DEFAULT ''
);
CREATE INDEX hold_open ON hold (lease_until) WHERE state = 'open';
-- Allowances: what nodes hold in advance for later requests.
CREATE INDEX hold_allowance ON hold (account_id, key_id) WHERE hold.state = 'open' AND hold.id LIKE 'allowance-%';

-- A movement of money from one side to another, never changed or removed; its hash covers the account's entries before
-- it.
CREATE TABLE entry (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account(id),
  debit TEXT NOT NULL, credit TEXT NOT NULL, amount BIGINT NOT NULL CHECK (amount >= 0), kind TEXT NOT NULL,
  ref TEXT NOT NULL, reason TEXT, actor TEXT, created_at BIGINT NOT NULL, hash TEXT NOT NULL,
  UNIQUE (kind, ref)
);
CREATE INDEX entry_account ON entry (account_id, id);
-- Finds credits without reading the charges between them.
CREATE INDEX entry_money ON entry (account_id, id) WHERE kind <> 'charge';
CREATE FUNCTION entry_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'entry is append-only'; END $$;
CREATE TRIGGER entry_append_only BEFORE UPDATE OR DELETE ON entry FOR EACH ROW EXECUTE FUNCTION entry_refuse();

-- The number and the balance of an account's entries at every 256th of them.
CREATE TABLE entry_mark (
  account_id TEXT NOT NULL REFERENCES account(id), nth BIGINT NOT NULL, last_id BIGINT NOT NULL,
  balance BIGINT NOT NULL,
  PRIMARY KEY (account_id, nth)
);

-- A closed month of an account.
CREATE TABLE statement_month (
  account_id TEXT NOT NULL REFERENCES account(id), month TEXT NOT NULL, timezone TEXT NOT NULL,
  ends_at BIGINT NOT NULL, last_entry BIGINT NOT NULL, opening BIGINT NOT NULL, closing BIGINT NOT NULL,
  closed_at BIGINT NOT NULL, seal TEXT NOT NULL,
  PRIMARY KEY (account_id, month)
);

-- The usage log

-- One answered request; record = the fields without a column, as JSON. Partitions of five million rows are dropped
-- whole when they expire; LogKeeper makes further ones.
CREATE SEQUENCE generation_number;
CREATE TABLE generation (
  id BIGINT PRIMARY KEY DEFAULT nextval('generation_number'), generation_id TEXT NOT NULL, account_id TEXT NOT NULL,
  -- Its number in the account's log.
  seq BIGINT NOT NULL,
  key_id TEXT NOT NULL, request_id TEXT NOT NULL, type TEXT NOT NULL, model TEXT NOT NULL,
  provider TEXT, status TEXT NOT NULL, cost BIGINT NOT NULL, provider_cost BIGINT NOT NULL, shortfall BIGINT NOT NULL,
  insured BIGINT NOT NULL, input_tokens BIGINT NOT NULL, output_tokens BIGINT NOT NULL, price_version BIGINT NOT NULL,
  created_at BIGINT NOT NULL, ended_at BIGINT NOT NULL, record TEXT NOT NULL, seal TEXT NOT NULL DEFAULT ''
) PARTITION BY RANGE (id);
CREATE INDEX generation_request ON generation (request_id, id);
CREATE INDEX generation_model ON generation (account_id, model, seq);
CREATE INDEX generation_key ON generation (account_id, key_id, seq);
CREATE INDEX generation_failed ON generation (account_id, seq) WHERE status <> 'completed';
CREATE INDEX generation_status ON generation (account_id, status, seq) WHERE status <> 'completed';
CREATE INDEX generation_kind ON generation (account_id, type, seq) WHERE type <> 'chat';
CREATE TABLE generation_0 PARTITION OF generation FOR VALUES FROM (MINVALUE) TO (5000000);
CREATE UNIQUE INDEX generation_0_generation ON generation_0 (generation_id);
CREATE UNIQUE INDEX generation_0_seq ON generation_0 (account_id, seq);
CREATE TABLE generation_5000000 PARTITION OF generation FOR VALUES FROM (5000000) TO (10000000);
CREATE UNIQUE INDEX generation_5000000_generation ON generation_5000000 (generation_id);
CREATE UNIQUE INDEX generation_5000000_seq ON generation_5000000 (account_id, seq);
CREATE TABLE generation_10000000 PARTITION OF generation FOR VALUES FROM (10000000) TO (15000000);
CREATE UNIQUE INDEX generation_10000000_generation ON generation_10000000 (generation_id);
CREATE UNIQUE INDEX generation_10000000_seq ON generation_10000000 (account_id, seq);

-- Every removed row of the log ended before this time.
CREATE TABLE log_kept (id BIGINT PRIMARY KEY CHECK (id = 1), before_at BIGINT NOT NULL, seal TEXT NOT NULL DEFAULT '');
INSERT INTO log_kept (id, before_at) VALUES (1, 0);

-- Sums of the log by day, key, model and provider.
CREATE TABLE usage_day (
  account_id TEXT NOT NULL, day TEXT NOT NULL, key_id TEXT NOT NULL, model TEXT NOT NULL, provider TEXT NOT NULL,
  -- The condition of the price that was charged; empty = none.
  condition TEXT NOT NULL DEFAULT '',
  requests BIGINT NOT NULL, input_tokens BIGINT NOT NULL, output_tokens BIGINT NOT NULL, revenue BIGINT NOT NULL,
  provider_cost BIGINT NOT NULL, insured BIGINT NOT NULL, shortfall BIGINT NOT NULL,
  PRIMARY KEY (account_id, day, key_id, model, provider, condition)
);

-- The part of those sums whose rows retention has removed.
CREATE TABLE removed_day (
  account_id TEXT NOT NULL, day TEXT NOT NULL, key_id TEXT NOT NULL, model TEXT NOT NULL, provider TEXT NOT NULL,
  requests BIGINT NOT NULL, input_tokens BIGINT NOT NULL, output_tokens BIGINT NOT NULL, revenue BIGINT NOT NULL,
  provider_cost BIGINT NOT NULL, insured BIGINT NOT NULL, shortfall BIGINT NOT NULL,
  PRIMARY KEY (account_id, day, key_id, model, provider)
);

-- Sums of the log by day, key, model and the customer's app, for the cabinet.
CREATE TABLE app_day (
  account_id TEXT NOT NULL, day TEXT NOT NULL, key_id TEXT NOT NULL, model TEXT NOT NULL, app TEXT NOT NULL,
  title TEXT, requests BIGINT NOT NULL, errors BIGINT NOT NULL, input_tokens BIGINT NOT NULL,
  output_tokens BIGINT NOT NULL, cost BIGINT NOT NULL,
  -- What prompt caches saved.
  saved BIGINT NOT NULL DEFAULT 0,
  last_at BIGINT NOT NULL,
  PRIMARY KEY (account_id, day, key_id, model, app)
);

-- Sums of charges that statements show on a later day than that of their hold.
CREATE TABLE booked_later (
  account_id TEXT NOT NULL, booked TEXT NOT NULL, placed TEXT NOT NULL, model TEXT NOT NULL, requests BIGINT NOT NULL,
  amount BIGINT NOT NULL,
  PRIMARY KEY (account_id, booked, placed, model)
);

-- Requests that last

-- A request that a provider works on for minutes, with the hold for its cost.
CREATE TABLE job (
  id TEXT PRIMARY KEY REFERENCES hold(id), account_id TEXT NOT NULL REFERENCES account(id),
  key_id TEXT NOT NULL REFERENCES api_key(id), request_id TEXT NOT NULL, model TEXT NOT NULL, request BYTEA NOT NULL,
  price_version BIGINT NOT NULL, hold BIGINT NOT NULL CHECK (hold >= 0),
  status TEXT NOT NULL CHECK (status IN ('pending','in_progress','completed','failed','expired','cancelled')),
  phase TEXT NOT NULL CHECK (phase IN ('ready','sending','parked','accepted')), progress BIGINT NOT NULL,
  details TEXT NOT NULL,
  -- Grows with each change, so that no writer overwrites the change of another.
  version BIGINT NOT NULL,
  lease_owner TEXT NOT NULL, lease_until BIGINT NOT NULL, due_at BIGINT NOT NULL,
  deadline BIGINT NOT NULL, created_at BIGINT NOT NULL, completed_at BIGINT, expires_at BIGINT,
  seal TEXT NOT NULL DEFAULT ''
);
CREATE INDEX job_due ON job (due_at) WHERE status IN ('pending','in_progress');
CREATE INDEX job_history ON job (account_id, completed_at) WHERE status = 'completed';
CREATE INDEX job_account ON job (account_id, created_at, id);

-- A picture, sound or video that a customer can download for a while.
CREATE TABLE stored_file (
  id TEXT PRIMARY KEY, account_id TEXT NOT NULL, media_type TEXT NOT NULL, bytes BIGINT NOT NULL CHECK (bytes >= 0),
  -- The name of the file's chunks.
  content TEXT NOT NULL UNIQUE,
  token_digest BYTEA, created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL
);
CREATE INDEX stored_file_expiry ON stored_file (expires_at);

-- The bytes of stored files, whose formats are compressed already.
CREATE TABLE stored_chunk (
  content TEXT NOT NULL, seq BIGINT NOT NULL, data BYTEA NOT NULL, created_at BIGINT NOT NULL,
  PRIMARY KEY (content, seq)
);
ALTER TABLE stored_chunk ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE INDEX stored_chunk_age ON stored_chunk (created_at);

-- A request that may be repeated, and its encrypted answer.
CREATE TABLE idempotency_key (
  id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account(id), request_digest TEXT NOT NULL,
  generation_id TEXT NOT NULL, state TEXT NOT NULL CHECK (state IN ('running','ended')), answer BYTEA,
  claimed_at BIGINT NOT NULL, expires_at BIGINT NOT NULL
);
CREATE INDEX idempotency_key_expiry ON idempotency_key (expires_at);

-- The sizes of those answers, by account and by the hour in which they expire.
CREATE TABLE kept_answer (
  account_id TEXT NOT NULL, hour BIGINT NOT NULL, bytes BIGINT NOT NULL,
  PRIMARY KEY (account_id, hour)
);

-- An answer of the Responses API that later requests can continue from, encrypted.
CREATE TABLE kept_response (
  id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account(id), key_id TEXT, previous_id TEXT,
  state TEXT NOT NULL CHECK (state IN ('running','ended')),
  -- 1 = to be stopped, 2 = stopped.
  stopped BIGINT NOT NULL DEFAULT 0,
  bytes BIGINT NOT NULL, created_at BIGINT NOT NULL, input BYTEA NOT NULL,
  answer BYTEA NOT NULL
);
-- An index that alone is enough to count the kept answers of an account.
CREATE INDEX kept_response_account ON kept_response (account_id, created_at, id, bytes);
CREATE INDEX kept_response_age ON kept_response (created_at);

-- People

-- A person who signs in to the console: a customer, or an operator with a role.
CREATE TABLE console_user (
  id TEXT PRIMARY KEY, email TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('user','admin')),
  operator_role TEXT CHECK (operator_role IN ('owner','administrator','billing','support','read_only')),
  -- The account that the person created.
  account_id TEXT REFERENCES account(id),
  password_hash TEXT, disabled BIGINT NOT NULL DEFAULT 0, timezone TEXT,
  language TEXT CHECK (language IN ('en','ru')),
  theme TEXT NOT NULL DEFAULT 'auto' CHECK (theme IN ('light','dark','auto')), oidc_issuer TEXT, oidc_subject TEXT,
  oidc_email TEXT, oidc_linked_at BIGINT, totp_seed BYTEA, totp_enabled BIGINT NOT NULL DEFAULT 0,
  totp_step BIGINT NOT NULL DEFAULT 0, last_sign_in_at BIGINT, created_at BIGINT NOT NULL,
  UNIQUE (oidc_issuer, oidc_subject)
);
CREATE INDEX console_user_account ON console_user (account_id);
CREATE INDEX console_user_created ON console_user (created_at DESC, id);

-- A one-time link that sets a password; without a person it creates the first operator.
CREATE TABLE setup_token (
  hash TEXT PRIMARY KEY, user_id TEXT REFERENCES console_user(id), clear_totp BIGINT NOT NULL DEFAULT 0,
  expires_at BIGINT NOT NULL
);

-- A code that replaces a lost second factor once.
CREATE TABLE recovery_code (
  user_id TEXT NOT NULL REFERENCES console_user(id), hash TEXT NOT NULL,
  PRIMARY KEY (user_id, hash)
);

-- A signed-in browser, and the account that it shows.
CREATE TABLE console_session (
  hash TEXT PRIMARY KEY, id TEXT NOT NULL UNIQUE, user_id TEXT NOT NULL REFERENCES console_user(id), account_id TEXT,
  ip TEXT NOT NULL, user_agent TEXT NOT NULL, created_at BIGINT NOT NULL, last_seen_at BIGINT NOT NULL,
  idle_ms BIGINT NOT NULL, ends_at BIGINT NOT NULL
);
CREATE INDEX console_session_user ON console_session (user_id);

-- An attempt to sign in.
CREATE TABLE sign_in (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at BIGINT NOT NULL, email TEXT NOT NULL, user_id TEXT,
  ip TEXT NOT NULL, ip_key TEXT NOT NULL, user_agent TEXT NOT NULL, device TEXT, method TEXT NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('succeeded','failed'))
);
CREATE INDEX sign_in_email ON sign_in (email, at);
CREATE INDEX sign_in_ip ON sign_in (ip_key, at);
CREATE INDEX sign_in_user ON sign_in (user_id, id);
CREATE INDEX sign_in_device ON sign_in (device, at) WHERE device IS NOT NULL;
CREATE INDEX sign_in_known ON sign_in (email, ip_key, at) WHERE outcome = 'succeeded';

-- A person who was invited to an account; the person who created the account has no row here.
CREATE TABLE account_member (
  account_id TEXT NOT NULL REFERENCES account(id), user_id TEXT NOT NULL REFERENCES console_user(id),
  role TEXT NOT NULL CHECK (role IN ('owner','member','billing')), monthly_limit BIGINT CHECK (monthly_limit >= 0),
  added_at BIGINT NOT NULL,
  PRIMARY KEY (account_id, user_id)
);
CREATE INDEX account_member_user ON account_member (user_id);

-- A link that makes somebody a member of an account.
CREATE TABLE account_invitation (
  id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, account_id TEXT NOT NULL REFERENCES account(id),
  role TEXT NOT NULL CHECK (role IN ('owner','member','billing')), monthly_limit BIGINT CHECK (monthly_limit >= 0),
  email TEXT, created_by TEXT NOT NULL, created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL
);
CREATE INDEX account_invitation_account ON account_invitation (account_id, created_at);

-- A secret of the admin API with its scopes; after the end of made_by, a token or a person, it is not valid either.
CREATE TABLE admin_token (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, digest BYTEA NOT NULL UNIQUE, label TEXT NOT NULL, scopes TEXT NOT NULL,
  made_by TEXT, created_by TEXT NOT NULL, created_at BIGINT NOT NULL, expires_at BIGINT, revoked_at BIGINT,
  last_used_at BIGINT
);
CREATE UNIQUE INDEX admin_token_name ON admin_token (name) WHERE revoked_at IS NULL;

-- Payments

-- A code that adds money to the account that redeems it, up to uses_max times.
CREATE TABLE redeem_code (
  id TEXT PRIMARY KEY, digest BYTEA NOT NULL UNIQUE, label TEXT NOT NULL, amount BIGINT NOT NULL CHECK (amount > 0),
  uses_max BIGINT NOT NULL, uses BIGINT NOT NULL DEFAULT 0, note TEXT, disabled BIGINT NOT NULL DEFAULT 0,
  created_by TEXT NOT NULL, created_at BIGINT NOT NULL, expires_at BIGINT, seal TEXT NOT NULL DEFAULT '',
  CHECK (uses >= 0 AND uses <= uses_max)
);
CREATE INDEX redeem_code_created ON redeem_code (created_at DESC, id);

-- A payment that a customer has begun; the payment service is asked about an open one when it is due.
CREATE TABLE payment_order (
  id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account(id), method TEXT NOT NULL,
  amount BIGINT NOT NULL CHECK (amount > 0), currency TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending','paid','cancelled')), payment_id TEXT, confirmation_url TEXT,
  due_at BIGINT NOT NULL DEFAULT 0, checks BIGINT NOT NULL DEFAULT 0, created_at BIGINT NOT NULL, paid_at BIGINT,
  seal TEXT NOT NULL DEFAULT '',
  UNIQUE (method, payment_id)
);
CREATE INDEX payment_order_account ON payment_order (account_id, created_at);
CREATE INDEX payment_order_created ON payment_order (created_at DESC, id);
CREATE INDEX payment_order_due ON payment_order (due_at) WHERE state = 'pending';

-- Money that a payment service has given back; booked = the part of it that the account still had.
CREATE TABLE payment_refund (
  id TEXT PRIMARY KEY, order_id TEXT NOT NULL REFERENCES payment_order(id),
  account_id TEXT NOT NULL REFERENCES account(id), amount BIGINT NOT NULL CHECK (amount > 0),
  booked BIGINT NOT NULL CHECK (booked >= 0 AND booked <= amount), at BIGINT NOT NULL, seal TEXT NOT NULL
);
CREATE INDEX payment_refund_order ON payment_refund (order_id);

-- Notices

-- An event that people are notified of, written together with its cause. While it has a subject, no other notice with
-- that subject is written.
CREATE TABLE notice (
  id TEXT PRIMARY KEY, kind TEXT NOT NULL, account_id TEXT REFERENCES account(id), subject TEXT UNIQUE,
  clear_at BIGINT, at BIGINT NOT NULL, detail TEXT NOT NULL, channel_id TEXT, addressed_at BIGINT
);
CREATE INDEX notice_new ON notice (at) WHERE addressed_at IS NULL;
CREATE INDEX notice_age ON notice (at);

-- A receiver of notices, which is confirmed with a code.
CREATE TABLE notice_channel (
  id TEXT PRIMARY KEY, account_id TEXT REFERENCES account(id),
  type TEXT NOT NULL CHECK (type IN ('email','telegram','webhook')), target TEXT NOT NULL, secret BYTEA,
  kinds TEXT NOT NULL, language TEXT NOT NULL CHECK (language IN ('en','ru')), enabled BIGINT NOT NULL DEFAULT 1,
  code_hash TEXT, code_until BIGINT NOT NULL DEFAULT 0, code_tries BIGINT NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL
);
CREATE INDEX notice_channel_account ON notice_channel (account_id, created_at);

-- A message of a notice to one receiver.
CREATE TABLE notice_delivery (
  id TEXT PRIMARY KEY, notice_id TEXT NOT NULL REFERENCES notice(id),
  channel_id TEXT NOT NULL REFERENCES notice_channel(id) ON DELETE CASCADE,
  state TEXT NOT NULL CHECK (state IN ('pending','sent','dead')), attempts BIGINT NOT NULL DEFAULT 0,
  due_at BIGINT NOT NULL, lease_until BIGINT NOT NULL DEFAULT 0, error TEXT, created_at BIGINT NOT NULL,
  ended_at BIGINT,
  UNIQUE (notice_id, channel_id)
);
CREATE INDEX notice_delivery_due ON notice_delivery (channel_id, due_at) WHERE state = 'pending';
CREATE INDEX notice_delivery_channel ON notice_delivery (channel_id, created_at);
CREATE INDEX notice_delivery_state ON notice_delivery (state, created_at);

-- Requests of a key that were refused before they could cost anything, counted by minute, with the newest of each in
-- full. At most some thousands of an account, and none older than a week.
CREATE TABLE refusal (
  id TEXT PRIMARY KEY, account_id TEXT NOT NULL, key_id TEXT NOT NULL, key_name TEXT NOT NULL, model TEXT NOT NULL,
  cause TEXT NOT NULL, minute BIGINT NOT NULL, times BIGINT NOT NULL, at BIGINT NOT NULL, request_id TEXT NOT NULL,
  status BIGINT NOT NULL, path TEXT NOT NULL, message TEXT NOT NULL, figures TEXT NOT NULL
);
CREATE INDEX refusal_account ON refusal (account_id, at DESC, id);
CREATE INDEX refusal_at ON refusal (at DESC, id);
CREATE INDEX refusal_request ON refusal (request_id);

-- The catalogue and the books

-- A version of the catalogue of models and prices, with the credentials of providers encrypted.
CREATE TABLE catalog_version (
  version BIGINT PRIMARY KEY, document TEXT NOT NULL, credentials BYTEA NOT NULL, file_digest TEXT,
  created_at BIGINT NOT NULL, seal TEXT NOT NULL DEFAULT ''
);

-- What a person or program has changed, never removed; its hash covers the events before it.
CREATE TABLE event (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at BIGINT NOT NULL, actor TEXT NOT NULL, ip TEXT,
  action TEXT NOT NULL, object TEXT NOT NULL, before TEXT, after TEXT, hash TEXT NOT NULL
);
CREATE INDEX event_action ON event (action, id);
CREATE FUNCTION event_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'event is append-only'; END $$;
CREATE TRIGGER event_append_only BEFORE UPDATE OR DELETE ON event FOR EACH ROW EXECUTE FUNCTION event_refuse();

-- The hash of the newest event.
CREATE TABLE event_head (id BIGINT PRIMARY KEY CHECK (id = 1), hash TEXT NOT NULL, seal TEXT NOT NULL);
INSERT INTO event_head (id, hash, seal) VALUES (1, '', '');

-- The number of rows of a table where nothing else would reveal a missing row.
CREATE TABLE row_count (name TEXT PRIMARY KEY, rows BIGINT NOT NULL, seal TEXT NOT NULL);
INSERT INTO row_count (name, rows, seal) VALUES
  ('account', 0, ''), ('api_key', 0, ''), ('redeem_code', 0, ''), ('payment_order', 0, ''), ('payment_refund', 0, ''),
  ('catalog_version', 0, '');

-- The key of the seals, encrypted with the wrapping key.
CREATE TABLE book (id BIGINT PRIMARY KEY CHECK (id = 1), sealed_key BYTEA NOT NULL);

-- Nodes

-- A process of Tollgate that is running, or was a moment ago.
CREATE TABLE node (id TEXT PRIMARY KEY, started_at BIGINT NOT NULL, seen_at BIGINT NOT NULL);

-- An IP address that may not try keys for a while, on all nodes.
CREATE TABLE ip_block (ip TEXT PRIMARY KEY, until BIGINT NOT NULL, blocks BIGINT NOT NULL, changed_at BIGINT NOT NULL);
CREATE INDEX ip_block_changed ON ip_block (changed_at);

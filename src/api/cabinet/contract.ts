import { completed } from '../records/route-rows.ts'
import type { ApiOf } from '../../base/wire-route.ts'
import { KEY_ROUTES } from './key-contract.ts'
import { LOG_ROUTES } from './log-contract.ts'
import { MEMBER_ROUTES } from './member-contract.ts'
import { MODEL_ROUTES } from './model-contract.ts'
import { MONEY_ROUTES } from './money-contract.ts'
import { NOTICE_ROUTES } from './notice-contract.ts'
import { SESSION_ROUTES } from './session-contract.ts'

/**
 * The wire contract of `/cabinet/v1` between the console and the server. The browser imports only the types.
 *
 * - A session cookie opens it; API keys and the admin token are refused. Without a session: 401 `unauthorized`.
 * - A changing request must come from our own page: `Sec-Fetch-Site: same-origin` (or Origin equal to Host), JSON body.
 *   Else 403 `access_denied`.
 * - Amounts are RUB numbers with at most 6 decimals; times are ISO 8601 in UTC; days are `YYYY-MM-DD` in the service's
 *   time zone.
 * - Errors have one shape, `ErrorBody`; 400 `invalid_input` names the field at the start of its message (`password: must
 *   …`), and in `metadata.field` with `check` (one of `FieldChecks`) and its `params`; other refusals have
 *   `metadata.reason` (one of `RefusalReasons`).
 * - Lists that may be long are read with cursors: pass `next_cursor` back as `cursor`; null = the end. Cursors are
 *   opaque.
 * - Texts that users typed or clients sent (names, titles, referers) come back unchanged: render them as text only.
 */
export const CABINET_ROUTES = completed({
  ...SESSION_ROUTES,
  ...KEY_ROUTES,
  ...LOG_ROUTES,
  ...MODEL_ROUTES,
  ...NOTICE_ROUTES,
  ...MEMBER_ROUTES,
  ...MONEY_ROUTES,
})

export type CabinetApi = ApiOf<typeof CABINET_ROUTES>

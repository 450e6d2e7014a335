import { digestOf, generateKey, labelOf } from '../access/api-key.ts'
import type { Principal } from '../access/principal.ts'
import { fieldError, reasonError } from '../errors.ts'
import type { Route } from '../http/edge.ts'
import { BodyFields } from '../kinds/strict-body.ts'
import { limitRemaining } from '../ledger/limit-remaining.ts'
import { periodEndMs } from '../ledger/period.ts'
import { rubles } from '../money.ts'
import type { KeyPatch, KeyRecord, KeySpend } from '../store/store.ts'
import type { Key, NewKey } from './contract.ts'
import { iso, isoOrNull, recordEvent, visitRoute, type CabinetPorts, type Visit } from './ports.ts'

const ID_LETTERS = 16
const NAME_MAX = 100
/** More are made by mistake alone. */
const KEYS_MAX = 500
const RESETS = ['daily', 'weekly', 'monthly'] as const
const NOTHING_SPENT: KeySpend = { totalMicro: 0n, dayMicro: 0n, weekMicro: 0n, monthMicro: 0n, heldMicro: 0n }

interface KeyWithSpend {
  readonly key: KeyRecord
  readonly spend: KeySpend
}

/** The account's own keys. */
export function keyRoutes(ports: CabinetPorts): readonly Route<Principal>[] {
  return [
    visitRoute(ports, 'GET /cabinet/v1/keys', async ({ accountId }) => ({
      data: (await ports.store.keys.list(accountId, ports.periods())).map((found) => wireKey(ports, found)),
    })),
    visitRoute(ports, 'POST /cabinet/v1/keys', (visit) => createKey(ports, visit), 201),
    visitRoute(ports, 'GET /cabinet/v1/keys/:id', async (visit) => wireKey(ports, await ownKey(ports, visit))),
    visitRoute(ports, 'PATCH /cabinet/v1/keys/:id', (visit) => patchKey(ports, visit)),
    visitRoute(ports, 'DELETE /cabinet/v1/keys/:id', async (visit) => {
      const { key } = await ownKey(ports, visit)
      await ports.store.keys.delete(key.id)
      ports.access.invalidate({ keyId: key.id })
      await recordEvent(ports, visit.user.email, visit.call.clientIp, 'key.delete', key.id)
      return { id: key.id, deleted: true }
    }),
  ]
}

export function wireKey(ports: Pick<CabinetPorts, 'periods' | 'clock' | 'catalog'>, { key, spend }: KeyWithSpend): Key {
  const remaining = limitRemaining(key, spend, ports.periods())
  const { timezone } = ports.catalog.current().settings
  return {
    id: key.id,
    name: key.name,
    label: key.label,
    disabled: key.disabled,
    limit: key.limitMicro === null ? null : rubles(key.limitMicro),
    limit_reset: key.limitReset,
    limit_remaining: remaining === null ? null : rubles(remaining),
    limit_resets_at:
      key.limitMicro === null || key.limitReset === null
        ? null
        : iso(periodEndMs(ports.clock.now(), key.limitReset, timezone)),
    usage: rubles(spend.totalMicro),
    usage_daily: rubles(spend.dayMicro),
    usage_weekly: rubles(spend.weekMicro),
    usage_monthly: rubles(spend.monthMicro),
    expires_at: isoOrNull(key.expiresAtMs),
    allowed_models: key.allowedModels,
    created_at: iso(key.createdAtMs),
    last_used_at: isoOrNull(key.lastUsedAtMs),
  }
}

/** Another account's key is as unknown as one that never was. */
async function ownKey(ports: CabinetPorts, { call, accountId }: Visit): Promise<KeyWithSpend> {
  const id = call.params['id'] ?? ''
  const found = await ports.store.keys.get(id, ports.periods())
  if (found === null || found.key.accountId !== accountId)
    throw reasonError('not_found', 'unknown_id', { id: id.slice(0, 80) }, `Key '${id.slice(0, 80)}' not found`)
  return found
}

async function createKey(ports: CabinetPorts, { call, accountId, user }: Visit): Promise<NewKey> {
  const fields = new BodyFields(call.json)
  const key = generateKey(ports.ids)
  const record = {
    id: `key_${ports.ids.letters(ID_LETTERS)}`,
    accountId,
    name: fields.requiredText('name', NAME_MAX),
    digest: digestOf(key),
    label: labelOf(key),
    limitMicro: limitAmount(fields) ?? null,
    limitReset: fields.oneOf('limit_reset', RESETS) ?? null,
    expiresAtMs: fields.time('expires_at') ?? null,
    allowedModels: fields.texts('allowed_models') ?? null,
    createdAtMs: ports.clock.now(),
  }
  fields.done()
  if (record.limitReset !== null && record.limitMicro === null)
    throw fieldError('limit_reset', 'needs_limit', {}, 'needs a limit')
  if ((await ports.store.keys.list(accountId, ports.periods())).length >= KEYS_MAX)
    throw reasonError(
      'conflict',
      'keys_most',
      { most: KEYS_MAX },
      `An account has at most ${KEYS_MAX} keys: delete some first`,
    )
  const made = wireKey(ports, { key: await ports.store.keys.create(record), spend: NOTHING_SPENT })
  await recordEvent(ports, user.email, call.clientIp, 'key.create', made.id, made)
  return { ...made, key }
}

function limitAmount(fields: BodyFields): bigint | null | undefined {
  const limit = fields.amount('limit')
  if (typeof limit === 'bigint' && limit < 0n)
    throw fieldError('limit', 'not_negative', {}, 'must be 0 or more, or null for none')
  return limit
}

async function patchKey(ports: CabinetPorts, visit: Visit): Promise<Key> {
  const { call, user } = visit
  const before = await ownKey(ports, visit)
  const fields = new BodyFields(call.json)
  const patch: { -readonly [K in keyof KeyPatch]: KeyPatch[K] } = {}
  const name = fields.text('name', NAME_MAX)
  const disabled = fields.flag('disabled')
  const limitMicro = limitAmount(fields)
  const limitReset = fields.oneOf('limit_reset', RESETS)
  const expiresAtMs = fields.time('expires_at')
  const models = fields.texts('allowed_models')
  fields.done()
  if (typeof name === 'string') patch.name = name
  if (disabled !== undefined) patch.disabled = disabled
  if (limitMicro !== undefined) patch.limitMicro = limitMicro
  if (limitReset !== undefined) patch.limitReset = limitReset
  if (expiresAtMs !== undefined) patch.expiresAtMs = expiresAtMs
  if (models !== undefined) patch.allowedModels = models
  const limitAfter = limitMicro === undefined ? before.key.limitMicro : limitMicro
  if (limitAfter === null && typeof limitReset === 'string')
    throw fieldError('limit_reset', 'needs_limit', {}, 'needs a limit')
  // A key without a limit has no period that could begin anew.
  if (limitAfter === null) patch.limitReset = null
  await ports.store.keys.update(before.key.id, patch, ports.periods())
  ports.access.invalidate({ keyId: before.key.id })
  const after = wireKey(ports, await ownKey(ports, visit))
  await recordEvent(ports, user.email, call.clientIp, 'key.update', after.id, after)
  return after
}

import { createHash, randomBytes } from 'node:crypto'
import type { Principal } from '../access/principal.ts'
import { fieldError } from '../refusals.ts'
import type { Route } from '../http/edge.ts'
import type { Judged } from '../kinds/fields/strict-body.ts'
import { microOf, rubles } from '../money.ts'
import { choiceParameter } from '../query-parameters.ts'
import type { CodeRecord } from '../store/accounts/code-store.ts'
import { CreatedSort, type Code, type CodeBody, type PaymentRow } from './top-up-contract.ts'
import {
  actor,
  adminRoute,
  notFound,
  page,
  param,
  recordEvent,
  type AdminBody,
  type AdminCall,
  type AdminReply,
  type AdminPorts,
} from './ports.ts'
import { externalIdPatch, recordId, refusingTaken } from './records.ts'
import { isoTime } from '../lib/time.ts'

/** Crockford's alphabet: no two of its characters are mistaken for each other when typed. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const LETTERS = 20
const LABEL_LETTERS = 4

/** Codes that customers redeem, and their payment orders. */
export function codeAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  return [
    adminRoute('GET /admin/v1/codes', async (call) => {
      const { limit, offset } = page(call)
      const order = choiceParameter(call.query, 'sort', CreatedSort) ?? '-created_at'
      const { data, total } = await ports.store.codes.list(limit, offset, order)
      return { status: 200, body: { data: data.map(wireCode), total } }
    }),
    adminRoute('GET /admin/v1/codes/:id', async (call) => ({ status: 200, body: wireCode(await one(ports, call)) })),
    adminRoute('POST /admin/v1/codes', (call, read) => createCodes(ports, call, read('amount'))),
    adminRoute('PATCH /admin/v1/codes/:id', (call, read) => patchCode(ports, call, read)),
    adminRoute('GET /admin/v1/payments', (call) => listPayments(ports, call)),
  ]
}

/** By its id or its external id. */
async function one(ports: AdminPorts, call: AdminCall): Promise<CodeRecord> {
  const given = param(call, 'id')
  const id = await recordId(ports, 'redeem_code', given)
  const code = id === null ? null : await ports.store.codes.get(id)
  if (code === null) throw notFound('Code', given)
  return code
}

function wireCode(code: CodeRecord): Code {
  return {
    id: code.id,
    external_id: code.externalId,
    label: code.label,
    amount: rubles(code.amountMicro),
    uses_max: code.usesMax,
    uses: code.uses,
    expires_at: isoTime(code.expiresAtMs),
    note: code.note,
    disabled: code.disabled,
    created_by: code.createdBy,
    created_at: isoTime(code.createdAtMs),
  }
}

async function createCodes(
  ports: AdminPorts,
  call: AdminCall,
  {
    external_id: name = null,
    amount,
    count = 1,
    uses_max: usesMax = 1,
    expires_at: expiry = null,
    note = null,
  }: Judged<CodeBody, 'amount'>,
): Promise<AdminReply<'POST /admin/v1/codes'>> {
  if (amount === undefined || amount === null || amount <= 0)
    throw fieldError('amount', 'above_zero', {}, 'is required, above 0')
  const { externalId = null } = externalIdPatch(name)
  if (externalId !== null && count !== 1)
    throw fieldError('count', 'one_of', { allowed: '1' }, 'must be 1 with external_id, which names one code')
  const amountMicro = microOf(amount)
  const expiresAtMs = expiry === null ? null : Date.parse(expiry)
  const createdBy = actor(ports, call)
  const made = Array.from({ length: count }, () => {
    const code = newCode()
    const record: CodeRecord = {
      id: `code_${ports.ids.letters(16)}`,
      externalId,
      label: code.slice(0, LABEL_LETTERS),
      amountMicro,
      usesMax,
      uses: 0,
      expiresAtMs,
      note,
      disabled: false,
      createdBy,
      createdAtMs: ports.clock.now(),
    }
    return { code, record, digest: createHash('sha256').update(code.replaceAll('-', '')).digest() }
  })
  await refusingTaken(() => ports.store.codes.create(made.map(({ record, digest }) => ({ ...record, digest }))))
  await recordEvent(ports, call, 'code.create', made.length === 1 ? (made[0]?.record.id ?? '') : 'codes', null, {
    ids: made.map(({ record }) => record.id),
    amount: rubles(amountMicro),
    uses_max: usesMax,
  })
  return { status: 201, body: { data: made.map(({ code, record }) => ({ ...wireCode(record), code })) } }
}

/** 100 random bits in groups of five. 256 is a multiple of 32, so each character is equally likely. */
function newCode(): string {
  return [...randomBytes(LETTERS)]
    .map((byte) => ALPHABET[byte % ALPHABET.length] ?? '')
    .join('')
    .replaceAll(/(.{5})(?=.)/g, '$1-')
}

async function patchCode(
  ports: AdminPorts,
  call: AdminCall,
  read: AdminBody<'PATCH /admin/v1/codes/:id'>,
): Promise<AdminReply<'PATCH /admin/v1/codes/:id'>> {
  const before = await one(ports, call)
  const { id } = before
  const { disabled, note, external_id: externalId } = read()
  const patch = {
    ...externalIdPatch(externalId),
    ...(disabled === undefined ? {} : { disabled }),
    ...(note === undefined ? {} : { note }),
  }
  const after = await refusingTaken(() => ports.store.codes.update(id, patch))
  if (after === null) throw notFound('Code', id)
  await recordEvent(ports, call, 'code.update', id, wireCode(before), wireCode(after))
  return { status: 200, body: wireCode(after) }
}

async function listPayments(ports: AdminPorts, call: AdminCall): Promise<AdminReply<'GET /admin/v1/payments'>> {
  const { data, total } = await ports.store.payments.list({
    accountId: call.query.get('account'),
    beforeMs: null,
    order: choiceParameter(call.query, 'sort', CreatedSort),
    ...page(call),
  })
  const rows: readonly PaymentRow[] = data.map((payment) => ({
    id: payment.id,
    account: payment.accountId,
    method: payment.method,
    amount: rubles(payment.amountMicro),
    currency: payment.currency,
    state: payment.state,
    payment_id: payment.paymentId,
    created_at: isoTime(payment.createdAtMs),
    paid_at: isoTime(payment.paidAtMs),
    refunded: rubles(payment.refundedMicro),
    refund_missing: rubles(payment.refundMissingMicro),
  }))
  return { status: 200, body: { data: rows, total } }
}

import { createHash, randomBytes } from 'node:crypto'
import type { Principal } from '../access/principal.ts'
import { fieldError } from '../errors.ts'
import type { Reply, Route } from '../http/edge.ts'
import { BodyFields } from '../kinds/strict-body.ts'
import { rubles } from '../money.ts'
import type { CodeRecord } from '../store/console-records.ts'
import type { Code, PaymentRow } from './top-up-contract.ts'
import { actor, adminRoute, notFound, page, param, recordEvent, type AdminCall, type AdminPorts } from './ports.ts'

const COUNT_MAX = 1_000
const USES_MAX = 1_000_000
/** Crockford's alphabet: no letter is taken for another when it is typed. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const LETTERS = 20
const LABEL_LETTERS = 4

/** Codes that customers redeem, and orders that they pay. */
export function codeAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  return [
    adminRoute('GET', 'codes', async (call) => {
      const { limit, offset } = page(call)
      const { data, total } = await ports.store.codes.list(limit, offset)
      return { status: 200, body: { data: data.map(wireCode), total } }
    }),
    adminRoute('POST', 'codes', (call) => createCodes(ports, call)),
    adminRoute('PATCH', 'codes/:id', (call) => patchCode(ports, call)),
    adminRoute('GET', 'payments', (call) => listPayments(ports, call)),
  ]
}

function wireCode(code: CodeRecord): Code {
  return {
    id: code.id,
    label: code.label,
    amount: rubles(code.amountMicro),
    uses_max: code.usesMax,
    uses: code.uses,
    expires_at: code.expiresAtMs === null ? null : new Date(code.expiresAtMs).toISOString(),
    note: code.note,
    disabled: code.disabled,
    created_by: code.createdBy,
    created_at: new Date(code.createdAtMs).toISOString(),
  }
}

async function createCodes(ports: AdminPorts, call: AdminCall): Promise<Reply> {
  const fields = new BodyFields(call.json)
  const amountMicro = fields.amount('amount')
  const count = fields.optionalWhole('count', 1, COUNT_MAX) ?? 1
  const usesMax = fields.optionalWhole('uses_max', 1, USES_MAX) ?? 1
  const expiresAtMs = fields.time('expires_at') ?? null
  const note = fields.text('note') ?? null
  fields.done()
  if (amountMicro === undefined || amountMicro === null || amountMicro <= 0n)
    throw fieldError('amount', 'above_zero', {}, 'is required, above 0')
  const createdBy = actor(ports, call)
  const made = Array.from({ length: count }, () => {
    const code = newCode()
    const record: CodeRecord = {
      id: `code_${ports.ids.letters(16)}`,
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
  await ports.store.codes.create(made.map(({ record, digest }) => ({ ...record, digest })))
  await recordEvent(ports, call, 'code.create', made.length === 1 ? (made[0]?.record.id ?? '') : 'codes', null, {
    ids: made.map(({ record }) => record.id),
    amount: rubles(amountMicro),
    uses_max: usesMax,
  })
  return { status: 201, body: { data: made.map(({ code, record }) => ({ ...wireCode(record), code })) } }
}

/** 100 random bits in groups of five. 256 is a multiple of 32, so that each letter is equally likely. */
function newCode(): string {
  return [...randomBytes(LETTERS)]
    .map((byte) => ALPHABET[byte % ALPHABET.length] ?? '')
    .join('')
    .replaceAll(/(.{5})(?=.)/g, '$1-')
}

async function patchCode(ports: AdminPorts, call: AdminCall): Promise<Reply> {
  const id = param(call, 'id')
  const before = await ports.store.codes.get(id)
  if (before === null) throw notFound('Code', id)
  const fields = new BodyFields(call.json)
  const disabled = fields.flag('disabled')
  const note = fields.text('note')
  fields.done()
  const after = await ports.store.codes.update(id, {
    ...(disabled === undefined ? {} : { disabled }),
    ...(note === undefined ? {} : { note }),
  })
  if (after === null) throw notFound('Code', id)
  await recordEvent(ports, call, 'code.update', id, wireCode(before), wireCode(after))
  return { status: 200, body: wireCode(after) }
}

async function listPayments(ports: AdminPorts, call: AdminCall): Promise<Reply> {
  const { data, total } = await ports.store.payments.list({
    accountId: call.query.get('account'),
    beforeMs: null,
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
    created_at: new Date(payment.createdAtMs).toISOString(),
    paid_at: payment.paidAtMs === null ? null : new Date(payment.paidAtMs).toISOString(),
    refunded: rubles(payment.refundedMicro),
    refund_missing: rubles(payment.refundMissingMicro),
  }))
  return { status: 200, body: { data: rows, total } }
}

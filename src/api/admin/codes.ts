import { createHash, randomBytes } from 'node:crypto'
import type { Principal } from '../../access/principal.ts'
import { fieldError } from '../../base/refusals.ts'
import type { Route } from '../../http/edge.ts'
import type { Judged } from '../../kinds/fields/strict-body.ts'
import { microOf, rubles, type Micro } from '../../base/money.ts'
import { choiceParameter } from '../../base/query-parameters.ts'
import type { CodePatch, CodeRecord } from '../../store/accounts/code-store.ts'
import type { PaymentRecord } from '../../store/accounts/payment-store.ts'
import { Code, CodePut, CreatedSort, type CodeBody, type PaymentRow } from './top-up-contract.ts'
import {
  listRoute,
  actor,
  adminRoute,
  recordChange,
  type AdminCall,
  type AdminAnswer,
  type AdminPorts,
} from './ports.ts'
import { listBody } from '../records/list-file.ts'
import { changedNamed, externalIdPatch, namedRecordRoutes, refusingTaken, type NamedRecords } from './records.ts'
import { isoTime } from '../../base/time.ts'
import { wire } from '../../base/wire-route.ts'

/** Crockford's alphabet: no two of its characters are mistaken for each other when typed. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const LETTERS = 20
const LABEL_LETTERS = 4

/** Codes that customers redeem, and their payment orders. */
export function codeAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  return [
    listRoute(ports, 'GET /admin/v1/codes', async ({ query }, range) =>
      listBody(
        await ports.store.codes.list({
          id: query.get('id'),
          order: choiceParameter(query, 'sort', CreatedSort),
          ...range,
        }),
        wireCode,
      ),
    ),
    adminRoute('POST /admin/v1/codes', (call, read) => createCodes(ports, call, read('amount'))),
    ...namedRecordRoutes(ports, codeKind(ports)),
    listRoute(ports, 'GET /admin/v1/payments', async ({ query }, range) =>
      listBody(
        await ports.store.payments.list({
          accountId: query.get('account'),
          id: query.get('id'),
          order: choiceParameter(query, 'sort', CreatedSort),
          ...range,
        }),
        wirePayment,
      ),
    ),
  ]
}

/** Codes as records that a client describes. */
function codeKind(ports: AdminPorts): NamedRecords<'/admin/v1/codes/:id', CodeRecord, CodePatch> {
  const { codes } = ports.store
  const kind: NamedRecords<'/admin/v1/codes/:id', CodeRecord, CodePatch> = {
    path: '/admin/v1/codes/:id',
    noun: 'Code',
    kind: 'redeem_code',
    event: 'code',
    terms: Object.keys(CodePut.fields),
    get: (id) => codes.get(id),
    shown: wireCode,
    update: (id, decide) => codes.update(id, decide),
    describe: (call, read) => {
      const { amount, disabled, ...body } = read('amount')
      const amountMicro = amountOf(amount)
      const terms = termsOf(body)
      return {
        change: (current) => {
          const allowed = rubles(current.amountMicro)
          if (amountMicro !== current.amountMicro)
            throw fieldError(
              'amount',
              'one_of',
              { allowed: String(allowed) },
              `must be ${allowed}: a code keeps its amount`,
            )
          return { ...terms, ...(disabled === undefined ? {} : { disabled }) }
        },
        create: async (externalId) => {
          const record = newCode(ports, call, { externalId, amountMicro, ...terms, disabled: disabled ?? false })
          await codes.create([record])
          return { record, once: { code: record.code } }
        },
      }
    },
    patch: (_call, terms) => () => terms,
    remove: async ({ id }, guard) =>
      (await changedNamed(kind, id, guard, () => ({ disabled: true, externalId: null }))) !== null,
  }
  return kind
}

function wireCode(code: CodeRecord): Code {
  return wire(Code, code)
}

function amountOf(amount: number | null | undefined): Micro {
  if (amount === undefined || amount === null || amount <= 0)
    throw fieldError('amount', 'above_zero', {}, 'is required, above 0')
  return microOf(amount)
}

type CodeTerms = Pick<CodeRecord, 'usesMax' | 'expiresAtMs' | 'note'>

/** The terms of a code in a body, with the defaults of those that are absent. */
function termsOf({
  uses_max: usesMax = 1,
  expires_at: end = null,
  note = null,
}: Pick<CodeBody, 'uses_max' | 'expires_at' | 'note'>): CodeTerms {
  return { usesMax, expiresAtMs: end === null ? null : Date.parse(end), note }
}

async function createCodes(
  ports: AdminPorts,
  call: AdminCall,
  { external_id: name = null, amount, count = 1, ...body }: Judged<CodeBody, 'amount'>,
): Promise<AdminAnswer<'POST /admin/v1/codes'>> {
  const amountMicro = amountOf(amount)
  const { externalId = null } = externalIdPatch(name)
  if (externalId !== null && count !== 1)
    throw fieldError('count', 'one_of', { allowed: '1' }, 'must be 1 with external_id, which names one code')
  const terms = { externalId, amountMicro, ...termsOf(body), disabled: false }
  const made = Array.from({ length: count }, () => newCode(ports, call, terms))
  await refusingTaken(() => ports.store.codes.create(made))
  await recordChange(ports, call, 'code.create', made.length === 1 ? (made[0]?.id ?? '') : 'codes', null, {
    ids: made.map(({ id }) => id),
    amount: rubles(amountMicro),
    uses_max: terms.usesMax,
  })
  return { data: made.map((record) => ({ ...wireCode(record), code: record.code })) }
}

/** A code with its secret, which only one answer shows. */
function newCode(
  ports: AdminPorts,
  call: AdminCall,
  terms: CodeTerms & Pick<CodeRecord, 'externalId' | 'amountMicro' | 'disabled'>,
): CodeRecord & { readonly digest: Buffer; readonly code: string } {
  const code = newSecret()
  return {
    id: `code_${ports.ids.letters(16)}`,
    ...terms,
    label: code.slice(0, LABEL_LETTERS),
    uses: 0,
    createdBy: actor(ports, call),
    createdAtMs: ports.clock.now(),
    digest: createHash('sha256').update(code.replaceAll('-', '')).digest(),
    code,
  }
}

/** 100 random bits in groups of five. 256 is a multiple of 32, so each character is equally likely. */
function newSecret(): string {
  return [...randomBytes(LETTERS)]
    .map((byte) => ALPHABET[byte % ALPHABET.length] ?? '')
    .join('')
    .replaceAll(/(.{5})(?=.)/g, '$1-')
}

function wirePayment(payment: PaymentRecord): PaymentRow {
  return {
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
  }
}

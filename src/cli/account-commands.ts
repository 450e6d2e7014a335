import { microFromRubles, parseDecimal, shift } from '../money.ts'
import { adminClient } from './admin-client.ts'
import { UsageError, type Command, type CommandInput, type Option } from './command.ts'
import type { CliContext } from './ports.ts'
import { listed, recordText, tableText } from './print.ts'

type Fields = Readonly<Record<string, unknown>>
type Method = Parameters<ReturnType<typeof adminClient>['call']>[0]

const JSON_OPTION: Option = { help: 'print the answer of the admin API as it is' }
const PAGE: Readonly<Record<string, Option>> = {
  limit: { value: 'N', help: 'at most N records, 100 unless told' },
  offset: { value: 'N', help: 'leave out the first N' },
}
const ACCOUNT: Readonly<Record<string, Option>> = {
  'default-model': { value: 'MODEL', help: 'the model of requests that name none; none takes it away' },
  'rate-limit': { value: 'N/SECONDS', help: "requests per window, such as 300/60; none = the service's own" },
}
const KEY: Readonly<Record<string, Option>> = {
  limit: { value: 'RUB', help: 'the most the key may spend; none = no limit' },
  'limit-reset': { value: 'PERIOD', help: 'when the limit starts anew: daily, weekly, monthly, or none' },
  'expires-at': { value: 'TIME', help: 'an ISO time; none = never' },
  'allowed-models': { value: 'A,B', help: 'comma list of models; none = every model' },
  'requests-per-minute': { value: 'N', help: 'paid requests in any minute; none = as its account' },
  'tokens-per-minute': { value: 'N', help: 'their tokens in any minute; none = no limit' },
  'running-requests': { value: 'N', help: 'paid requests at once; none = no limit' },
  'allowed-ips': { value: 'A,B', help: 'comma list of addresses and CIDR ranges; none = from everywhere' },
}
const ACCOUNT_COLUMNS = ['id', 'name', 'email', 'status', 'balance', 'available', 'reserved']
const KEY_COLUMNS = ['id', 'name', 'label', 'disabled', 'limit', 'limit_reset', 'usage', 'expires_at', 'last_used_at']

/** Thin clients of the admin API of a running server. */
export const ACCOUNT_COMMANDS: readonly Command[] = [
  {
    words: 'account create',
    operands: ['[NAME]'],
    summary: 'Creates an account.',
    options: {
      name: { value: 'NAME', help: 'its name, where it does not stand as an argument' },
      email: { value: 'EMAIL', help: 'whom to write to' },
      ...ACCOUNT,
      json: JSON_OPTION,
    },
    run: (input, context) =>
      show(context, input, 'POST', '/admin/v1/accounts', {
        name: nameOf(input, 0),
        ...given('email', input.text('email')),
        ...accountFields(input),
      }),
  },
  {
    words: 'account list',
    operands: [],
    summary: 'Lists accounts.',
    options: { query: { value: 'TEXT', help: 'those whose id, name or e-mail begins so' }, ...PAGE, json: JSON_OPTION },
    run: (input, context) => list(context, input, '/admin/v1/accounts', ['query', 'limit', 'offset'], ACCOUNT_COLUMNS),
  },
  {
    words: 'account show',
    operands: ['ACCOUNT'],
    summary: 'Shows one account.',
    options: { json: JSON_OPTION },
    run: (input, context) => show(context, input, 'GET', `/admin/v1/accounts/${segment(input, 0)}`),
  },
  {
    words: 'account update',
    operands: ['ACCOUNT'],
    summary: 'Changes an account; what is not given stays.',
    options: {
      name: { value: 'NAME', help: 'its name' },
      status: { value: 'STATUS', help: 'active, deactivated or locked' },
      ...ACCOUNT,
      'allowed-models': { value: 'A,B', help: 'comma list of models; none = every model' },
      json: JSON_OPTION,
    },
    run: (input, context) =>
      change(context, input, `/admin/v1/accounts/${segment(input, 0)}`, {
        ...given('name', input.text('name')),
        ...given('status', input.text('status')),
        ...accountFields(input),
        ...given('allowed_models', models(input)),
      }),
  },
  {
    words: 'key create',
    operands: ['ACCOUNT', '[NAME]'],
    summary: 'Creates an API key and prints it, this once.',
    options: {
      name: { value: 'NAME', help: 'its name, where it does not stand as an argument' },
      ...KEY,
      json: JSON_OPTION,
    },
    run: (input, context) =>
      show(context, input, 'POST', `/admin/v1/accounts/${segment(input, 0)}/keys`, {
        name: nameOf(input, 1),
        ...keyFields(input),
      }),
  },
  {
    words: 'key list',
    operands: ['ACCOUNT'],
    summary: 'Lists the keys of an account.',
    options: { ...PAGE, json: JSON_OPTION },
    run: (input, context) =>
      list(context, input, `/admin/v1/accounts/${segment(input, 0)}/keys`, ['limit', 'offset'], KEY_COLUMNS),
  },
  {
    words: 'key update',
    operands: ['KEY'],
    summary: 'Changes a key; what is not given stays.',
    options: {
      name: { value: 'NAME', help: 'its name' },
      disabled: { value: 'true|false', help: 'whether it is refused' },
      ...KEY,
      json: JSON_OPTION,
    },
    run: (input, context) =>
      change(context, input, `/admin/v1/keys/${segment(input, 0)}`, {
        ...given('name', input.text('name')),
        ...given('disabled', flagText(input, 'disabled')),
        ...keyFields(input),
      }),
  },
  {
    words: 'key delete',
    operands: ['KEY'],
    summary: 'Deletes a key; what it spent stays in the log.',
    options: { json: JSON_OPTION },
    run: (input, context) => show(context, input, 'DELETE', `/admin/v1/keys/${segment(input, 0)}`),
  },
  {
    words: 'topup',
    operands: ['ACCOUNT', 'AMOUNT'],
    summary: 'Adds RUB to an account. A reference that was used before adds nothing.',
    options: {
      reference: { value: 'R', help: "the payment's own number, which makes a repeat harmless" },
      reason: { value: 'TEXT', help: 'why, for the ledger' },
      json: JSON_OPTION,
    },
    run: (input, context) => {
      const reference = input.text('reference')
      if (reference === undefined || reference === '')
        throw new UsageError("--reference is missing: the payment's own number, by which a repeated top-up is known")
      const amount = rublesOf(input.operands[1] ?? '', 'AMOUNT')
      if (amount === 0) throw new UsageError('AMOUNT must be above 0')
      return show(context, input, 'POST', `/admin/v1/accounts/${segment(input, 0)}/ledger`, {
        kind: 'topup',
        amount,
        reason: input.text('reason') ?? 'top-up',
        reference,
      })
    },
  },
]

async function show(
  context: CliContext,
  input: CommandInput,
  method: Method,
  path: string,
  body?: Fields,
): Promise<number> {
  const answer = await adminClient(context).call(method, path, body)
  context.stdout(input.flag('json') ? JSON.stringify(answer) : recordText(answer))
  return 0
}

function change(context: CliContext, input: CommandInput, path: string, body: Fields): Promise<number> {
  if (Object.keys(body).length === 0) throw new UsageError('Nothing to change was given; --help lists what can be')
  return show(context, input, 'PATCH', path, body)
}

async function list(
  context: CliContext,
  input: CommandInput,
  path: string,
  filters: readonly string[],
  names: readonly string[],
): Promise<number> {
  const query = new URLSearchParams()
  for (const name of filters) {
    const value = input.text(name)
    if (value !== undefined) query.set(name, value)
  }
  const answer = await adminClient(context).call('GET', query.size === 0 ? path : `${path}?${query.toString()}`)
  context.stdout(input.flag('json') ? JSON.stringify(answer) : tableText(listed(answer), names))
  return 0
}

/** A body with the field only where it was given. */
function given(name: string, value: unknown): Fields {
  return value === undefined ? {} : { [name]: value }
}

function segment(input: CommandInput, index: number): string {
  return encodeURIComponent(input.operands[index] ?? '')
}

function nameOf(input: CommandInput, index: number): string {
  const name = input.operands[index] ?? input.text('name')
  if (name === undefined || name.trim() === '')
    throw new UsageError('NAME is missing: give it as the last argument or as --name')
  return name
}

/** `none` removes a setting. */
function orNone<T>(text: string | undefined, read: (text: string) => T): T | null | undefined {
  return text === undefined ? undefined : text === 'none' ? null : read(text)
}

function accountFields(input: CommandInput): Fields {
  return {
    ...given('default_model', orNone(input.text('default-model'), String)),
    ...given('rate_limit', orNone(input.text('rate-limit'), rateLimit)),
  }
}

function keyFields(input: CommandInput): Fields {
  return {
    ...given(
      'limit',
      orNone(input.text('limit'), (text) => rublesOf(text, '--limit')),
    ),
    ...given('limit_reset', orNone(input.text('limit-reset'), String)),
    ...given('expires_at', orNone(input.text('expires-at'), String)),
    ...given('allowed_models', models(input)),
    ...given('requests_per_minute', count(input, 'requests-per-minute')),
    ...given('tokens_per_minute', count(input, 'tokens-per-minute')),
    ...given('running_requests', count(input, 'running-requests')),
    ...given('allowed_ips', orNone(input.text('allowed-ips'), commaList)),
  }
}

function models(input: CommandInput): readonly string[] | null | undefined {
  return orNone(input.text('allowed-models'), commaList)
}

function commaList(text: string): readonly string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

function count(input: CommandInput, name: string): number | null | undefined {
  return orNone(input.text(name), (text) => {
    if (/^[1-9]\d{0,9}$/.test(text)) return Number(text)
    throw new UsageError(`--${name} must be a whole number of at least 1, or none, got '${text}'`)
  })
}

function flagText(input: CommandInput, name: string): boolean | undefined {
  const text = input.text(name)
  if (text === undefined || text === 'true' || text === 'false') return text === undefined ? undefined : text === 'true'
  throw new UsageError(`--${name} must be true or false, got '${text}'`)
}

function rateLimit(text: string): Fields {
  const [, requests, window] = /^(\d{1,6})\/(\d{1,5})$/.exec(text) ?? []
  if (requests === undefined || window === undefined)
    throw new UsageError(`--rate-limit must be requests/seconds such as 300/60, or none, got '${text}'`)
  return { requests: Number(requests), window: Number(window) }
}

/** JSON carries the amount as a double, so the double must equal the typed amount exactly. */
function rublesOf(text: string, name: string): number {
  const micro = /^\d{1,10}(\.\d{1,6})?$/.test(text) ? parseDecimal(text) : null
  if (micro === null || microFromRubles(Number(text)) !== shift(micro, 6).digits)
    throw new UsageError(`${name} must be an amount in RUB with at most 6 decimals, such as 100 or 0.5, got '${text}'`)
  return Number(text)
}

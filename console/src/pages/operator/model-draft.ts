import type { EndpointEntry, ModelEntry, PriceEntry } from '../../../../src/api/admin/catalog-contract.ts'
import { MODEL_TYPE_TABLE, type ModelType } from '../../../../src/tables/model-types.ts'
import { ownValue } from '../../../../src/base/own-value.ts'
import { typed } from '../../api/endpoint.ts'
import { plainNumber } from '../../parts/number-text.ts'

/** One price of an endpoint. Decimals stay as they were typed. */
export interface PriceLine {
  readonly meter: string
  /** What the price depends on, such as the resolution of a video; null = nothing. */
  readonly variant: string | null
  /** In the endpoint's currency. */
  readonly cost: string
  /** In RUB; only for an endpoint with custom selling prices. */
  readonly sell: string
}

type Conditions = Omit<PriceEntry, 'currency'>

export interface EndpointDraft {
  readonly provider: string
  readonly model: string
  readonly currency: string
  readonly ownPrices: boolean
  readonly lines: readonly PriceLine[]
  /** The conditions of both prices. The form does not show them, and they stay unchanged. */
  readonly conditions: { readonly cost: Conditions; readonly sell: Conditions }
  /** Fields that the form does not show, which stay unchanged. */
  readonly kept: Readonly<Record<string, unknown>>
}

export interface ModelDraft {
  readonly id: string
  readonly name: string
  readonly type: ModelType
  readonly context: string
  readonly output: string
  /** Empty = the markup of the provider or the service. */
  readonly markup: string
  readonly active: boolean
  readonly hidden: boolean
  readonly endpoints: readonly EndpointDraft[]
  readonly kept: Readonly<Record<string, unknown>>
}

const CONDITIONS: ReadonlySet<string> = new Set(['tiers', 'service_tiers', 'hours'])
const DECIMAL = /^\d{1,15}(?:\.\d{1,18})?$/

export function isDecimal(text: string): boolean {
  return DECIMAL.test(text)
}

/** The lines of the simplest complete price. */
export function firstLines(type: ModelType): readonly PriceLine[] {
  const [first = []] = MODEL_TYPE_TABLE[type].complete
  return first.map((meter) => ({ meter, variant: null, cost: '', sell: '' }))
}

export function newEndpoint(provider: string, type: ModelType): EndpointDraft {
  return {
    provider,
    model: '',
    currency: 'RUB',
    ownPrices: false,
    lines: firstLines(type),
    conditions: { cost: {}, sell: {} },
    kept: {},
  }
}

export function newModel(provider: string): ModelDraft {
  return {
    id: '',
    name: '',
    type: 'chat',
    context: '128000',
    output: '',
    markup: '',
    active: true,
    hidden: false,
    endpoints: [newEndpoint(provider, 'chat')],
    kept: {},
  }
}

export function draftOf({
  id,
  name,
  type,
  context_length: context,
  max_completion_tokens: output,
  markup,
  active,
  hidden,
  endpoints,
  ...kept
}: ModelEntry): ModelDraft {
  return {
    id,
    name: name ?? '',
    type,
    context: textOf(context),
    output: textOf(output),
    markup: textOf(markup),
    active: active !== false,
    hidden: hidden === true,
    endpoints: endpoints.map(endpointDraft),
    kept,
  }
}

function endpointDraft({
  provider,
  model,
  price: { currency, ...prices },
  sell,
  ...kept
}: EndpointEntry): EndpointDraft {
  const lines = Object.entries(prices).flatMap(([meter, cost]) =>
    CONDITIONS.has(meter)
      ? []
      : typeof cost === 'object'
        ? Object.entries(cost).map(([variant, value]: [string, unknown]) => lineOf(meter, variant, value, sell))
        : [lineOf(meter, null, cost, sell)],
  )
  const conditions = { cost: conditionsOf(prices), sell: conditionsOf(sell ?? {}) }
  return { provider, model, currency, ownPrices: sell !== undefined, lines, conditions, kept }
}

function conditionsOf(prices: Conditions): Conditions {
  return Object.fromEntries(Object.entries(prices).filter(([key]) => CONDITIONS.has(key)))
}

function lineOf(meter: string, variant: string | null, cost: unknown, sell: EndpointEntry['sell']): PriceLine {
  const own: unknown = ownValue(sell ?? {}, meter)
  return {
    meter,
    variant,
    cost: textOf(cost),
    sell: textOf(typeof own === 'object' && own !== null ? new Map(Object.entries(own)).get(variant ?? '') : own),
  }
}

export function entryOf(draft: ModelDraft): ModelEntry {
  return {
    ...draft.kept,
    id: draft.id.trim(),
    type: draft.type,
    ...typed({ name: draft.name, markup: draft.markup }),
    ...(draft.context === '' ? {} : { context_length: Number(draft.context) }),
    ...(draft.output === '' ? {} : { max_completion_tokens: Number(draft.output) }),
    ...(draft.active ? {} : { active: false }),
    ...(draft.hidden ? { hidden: true } : {}),
    endpoints: draft.endpoints.map(({ provider, model, currency, ownPrices, lines, conditions, kept }) => ({
      ...kept,
      provider,
      model: model.trim(),
      price: { currency, ...pricesOf(lines, 'cost'), ...conditions.cost } satisfies PriceEntry,
      ...(ownPrices ? { sell: { ...pricesOf(lines, 'sell'), ...conditions.sell } } : {}),
    })),
  }
}

function pricesOf(
  lines: readonly PriceLine[],
  which: 'cost' | 'sell',
): Record<string, string | Record<string, string>> {
  const prices: Record<string, string | Record<string, string>> = {}
  for (const { meter, variant, ...line } of lines) {
    const before = ownValue(prices, meter)
    prices[meter] =
      variant === null ? line[which] : { ...(typeof before === 'object' ? before : {}), [variant]: line[which] }
  }
  return prices
}

type Limit = 'context_length' | 'max_completion_tokens'

/** Whether nobody has stated a limit. */
export function isGuess({ kept }: ModelDraft, limit: Limit): boolean {
  return Array.isArray(kept['guessed']) && kept['guessed'].includes(limit)
}

/** The draft whose limit is no guess any more. */
export function stated(draft: ModelDraft, limit: Limit): ModelDraft {
  if (!isGuess(draft, limit)) return draft
  // It is a list of names, as above.
  const { guessed, ...kept } = draft.kept as { readonly guessed: readonly string[] }
  const others = guessed.filter((name) => name !== limit)
  return { ...draft, kept: others.length === 0 ? kept : { ...kept, guessed: others } }
}

/** Whether every field of the form has a valid value; the server checks the rest. */
export function isComplete({ id, endpoints }: ModelDraft): boolean {
  return (
    id.trim() !== '' &&
    endpoints.length > 0 &&
    endpoints.every(
      ({ provider, model, lines, ownPrices }) =>
        provider !== '' &&
        model.trim() !== '' &&
        lines.length > 0 &&
        lines.every(({ cost, sell }) => isDecimal(cost) && (!ownPrices || isDecimal(sell))),
    )
  )
}

function textOf(value: unknown): string {
  // JavaScript would write a small price as 1e-7, which is not a decimal.
  return typeof value === 'number' ? plainNumber(value) : typeof value === 'string' ? value : ''
}

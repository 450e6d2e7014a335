import type { ModelEndpoint, ModelRow } from '../../../../src/api/cabinet/model-contract.ts'
import { MODEL_TYPE_TABLE } from '../../../../src/tables/model-types.ts'
import { ownValue } from '../../../../src/base/own-value.ts'

export interface ModelWish {
  readonly text: string
  readonly type: string | null
  readonly provider: string | null
  /** Least context length in tokens. */
  readonly context: number | null
  readonly allowedOnly: boolean
}

/** The models that a user wishes to see, by their names. The id, name or aliases contain each word of the text. */
export function shownModels(models: readonly ModelRow[], wish: ModelWish): readonly ModelRow[] {
  const words = wish.text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
  return models
    .filter((model) => {
      const names = [model.id, model.name, ...model.aliases].join(' ').toLowerCase()
      return (
        words.every((word) => names.includes(word)) &&
        (wish.type === null || model.type === wish.type) &&
        (wish.provider === null || model.endpoints.some(({ provider }) => provider === wish.provider)) &&
        (wish.context === null || (model.context_length ?? 0) >= wish.context) &&
        (!wish.allowedOnly || model.allowed)
      )
    })
    .toSorted((one, other) => one.name.localeCompare(other.name))
}

/**
 * The main price of a model of this type; null = it has none. It is only good for sorting: charges are never computed
 * with it.
 */
export function mainPrice({ type, prices }: ModelRow): number | null {
  const keys = ['prompt', ...MODEL_TYPE_TABLE[type].complete.map(([first]) => first ?? '')]
  const price = keys.map((key) => ownValue(prices, key)).find((each) => each !== undefined)
  return price === undefined ? null : Number(price)
}

/** Output tokens per second of the fastest endpoint. */
export function bestSpeed(model: ModelRow): number | null {
  return bestOf(model, ({ throughput }) => throughput?.p50 ?? null, Math.max)
}

/** The best value that an endpoint of the model has; null = no endpoint has one. */
export function bestOf(
  { endpoints }: ModelRow,
  value: (endpoint: ModelEndpoint) => number | null,
  pick: (...values: number[]) => number,
): number | null {
  const known = endpoints.map(value).filter((each) => each !== null)
  return known.length === 0 ? null : pick(...known)
}

import type { ModelRow, ModelType, Prices } from '../../../../src/cabinet/contract.ts'

export const MODEL_TYPES: readonly ModelType[] = [
  'chat',
  'embeddings',
  'image',
  'tts',
  'transcription',
  'rerank',
  'video',
]
export const ORDERS = ['name', 'cheap', 'context', 'new', 'fast'] as const
export type Order = (typeof ORDERS)[number]

export interface ModelWish {
  readonly text: string
  readonly type: string | null
  readonly provider: string | null
  /** Least context length in tokens. */
  readonly context: number | null
  readonly order: Order
  readonly allowedOnly: boolean
}

/** The models that the wish is for, in its order. Each word of the text must stand in the id, name or an alias. */
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
    .toSorted(COMPARE[wish.order])
}

const COMPARE: Readonly<Record<Order, (a: ModelRow, b: ModelRow) => number>> = {
  name: (a, b) => a.name.localeCompare(b.name),
  cheap: (a, b) => mainPrice(a.prices) - mainPrice(b.prices),
  context: (a, b) => (b.context_length ?? 0) - (a.context_length ?? 0),
  new: (a, b) => b.created.localeCompare(a.created),
  fast: (a, b) => bestSpeed(b) - bestSpeed(a),
}

/** What is paid first for this kind of model: the number to order by, never to charge by. */
function mainPrice(prices: Prices): number {
  const price =
    prices['prompt'] ??
    prices['characters'] ??
    prices['image_output'] ??
    prices['second'] ??
    prices['video_second'] ??
    prices['search'] ??
    prices['request']
  return price === undefined ? Infinity : Number(price)
}

function bestSpeed({ endpoints }: ModelRow): number {
  return Math.max(-1, ...endpoints.map(({ throughput }) => throughput?.p50 ?? -1))
}

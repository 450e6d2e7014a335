import { parseEmbeddings } from '../kinds/embeddings-parse.ts'
import type { Picture } from '../kinds/image-bytes.ts'
import { parseImages } from '../kinds/image-parse.ts'
import { parseRerank } from '../kinds/rerank-parse.ts'
import type { AdapterTable } from '../providers/adapter.ts'
import { audioKinds } from './audio-kinds.ts'
import { embeddingsOrders } from './embeddings-order.ts'
import { drawsInChat, imageKind, type KeepPictures } from './image-kind.ts'
import { withSession, type PaidKind } from './paid-kind.ts'
import { rerankOrders } from './rerank-order.ts'
import { textKinds } from './text-kinds.ts'
import { unitOrder } from './unit-order.ts'

/** What the kinds need besides providers. */
export interface KindPorts {
  /** Keeps a picture for a while; answers its address after `publicUrl`. */
  readonly pictures: { keep(accountId: string, picture: Picture): Promise<string> }
}

/** Every paid kind. Another one is another row here, and no change of the paid path. */
export function paidKinds(adapters: AdapterTable, { pictures }: KindPorts): readonly PaidKind[] {
  const embeddingsOrder = embeddingsOrders(adapters)
  const rerankOrder = rerankOrders(adapters)
  return [
    ...textKinds(adapters),
    {
      paths: ['/v1/embeddings'],
      endpointName: 'embeddings',
      modelType: 'embeddings',
      body: 'json',
      read: ({ json, sessionId }) => embeddingsOrder(withSession(parseEmbeddings(json), sessionId)),
    },
    {
      paths: ['/v1/rerank'],
      endpointName: 'rerank',
      modelType: 'rerank',
      body: 'json',
      read: ({ json, sessionId }) => rerankOrder(withSession(parseRerank(json), sessionId)),
    },
    {
      paths: ['/v1/images/generations', '/v1/images'],
      endpointName: 'images/generations',
      modelType: 'image',
      alsoServes: drawsInChat,
      body: 'json',
      read: ({ json, sessionId, publicUrl }) => {
        const keep: KeepPictures = (accountId, all) =>
          Promise.all(all.map(async (picture) => publicUrl + (await pictures.keep(accountId, picture))))
        return unitOrder(withSession(parseImages(json), sessionId), imageKind(adapters, keep))
      },
    },
    ...audioKinds(adapters),
  ]
}

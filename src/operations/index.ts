import { parseEmbeddings } from '../kinds/embeddings/parse.ts'
import type { Picture } from '../kinds/images/bytes.ts'
import { parseImages } from '../kinds/images/parse.ts'
import { parseRerank } from '../kinds/rerank/parse.ts'
import { REQUEST_TYPE_TABLE, type AnsweredType } from '../model-types.ts'
import type { AdapterTable } from '../providers/ports/adapter.ts'
import { audioReaders } from './audio-kinds.ts'
import { cohereDoors } from './cohere-doors.ts'
import { embeddingsOperations } from './embeddings.ts'
import { geminiDoors } from './gemini-doors.ts'
import { imageKind, type KeepPictures } from './image-kind.ts'
import { withSession, type PaidKind, type RequestReader } from './paid-kind.ts'
import { rerankOperations } from './rerank.ts'
import { textReaders } from './text-kinds.ts'
import { unitOperation } from './unit.ts'

/** What the kinds need besides providers. */
export interface KindPorts {
  /** Keeps a picture for a while; answers its address after `publicUrl`. */
  readonly pictures: { keep(accountId: string, picture: Picture): Promise<string> }
}

/** Every paid kind whose answer comes with the request. Without a reader for one of their types this does not compile. */
export function paidKinds(adapters: AdapterTable, ports: KindPorts): readonly PaidKind[] {
  const readers = requestReaders(adapters, ports)
  // The keys of the readers are exactly these types.
  const kinds = (Object.keys(readers) as AnsweredType[]).map((type) => ({
    paths: REQUEST_TYPE_TABLE[type].paths,
    ...readers[type],
  }))
  return [...kinds, ...geminiDoors(adapters), ...cohereDoors(adapters)]
}

function requestReaders(
  adapters: AdapterTable,
  { pictures }: KindPorts,
): Readonly<Record<AnsweredType, RequestReader>> {
  const embeddingsOperation = embeddingsOperations(adapters)
  const rerankOperation = rerankOperations(adapters)
  return {
    ...textReaders(adapters),
    embeddings: {
      body: 'json',
      read: ({ json, sessionId }) => embeddingsOperation(withSession(parseEmbeddings(json), sessionId)),
    },
    rerank: {
      body: 'json',
      read: ({ json, sessionId }) => rerankOperation(withSession(parseRerank(json), sessionId)),
    },
    image: {
      body: 'json',
      read: ({ json, sessionId, publicUrl }) => {
        const keep: KeepPictures = (accountId, all) =>
          Promise.all(all.map(async (picture) => publicUrl + (await pictures.keep(accountId, picture))))
        return unitOperation(withSession(parseImages(json), sessionId), imageKind(adapters, keep))
      },
    },
    ...audioReaders(adapters),
  }
}

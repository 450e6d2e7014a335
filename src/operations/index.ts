import { parseEmbeddings } from '../kinds/embeddings/parse.ts'
import { parseImages } from '../kinds/images/parse.ts'
import { parseModeration } from '../kinds/moderations/parse.ts'
import { parseRerank } from '../kinds/rerank/parse.ts'
import { REQUEST_TYPE_TABLE, type AnsweredType } from '../model-types.ts'
import type { AdapterTable } from '../providers/ports/adapter.ts'
import { audioReaders } from './audio-kinds.ts'
import { cohereDoors } from './cohere-doors.ts'
import { embeddingsOperations } from './embeddings.ts'
import { geminiDoors } from './gemini-doors.ts'
import { imageDoors, imageOperations, type KeptPictures } from './image-doors.ts'
import { moderationOperations } from './moderations.ts'
import { withSession, type PaidKind, type RequestReader } from './paid-kind.ts'
import { rerankOperations } from './rerank.ts'
import { textReaders } from './text-kinds.ts'

/** The parts that kinds need besides providers. */
export interface KindPorts {
  readonly pictures: KeptPictures
}

/** Every paid kind whose answer comes with the request. A type without a reader does not compile. */
export function paidKinds(adapters: AdapterTable, ports: KindPorts): readonly PaidKind[] {
  const draw = imageOperations(adapters, ports.pictures)
  const readers = requestReaders(adapters, draw)
  // The keys of the readers are exactly these types.
  const kinds = (Object.keys(readers) as AnsweredType[]).map((type) => ({
    paths: REQUEST_TYPE_TABLE[type].paths,
    ...readers[type],
  }))
  return [...kinds, ...imageDoors(draw), ...geminiDoors(adapters), ...cohereDoors(adapters)]
}

function requestReaders(
  adapters: AdapterTable,
  draw: ReturnType<typeof imageOperations>,
): Readonly<Record<AnsweredType, RequestReader>> {
  const embeddingsOperation = embeddingsOperations(adapters)
  const judge = moderationOperations(adapters)
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
    moderation: {
      body: 'json',
      read: ({ json, sessionId }) => judge(withSession(parseModeration(json), sessionId)),
    },
    image: { body: 'json', read: (input) => draw(parseImages(input.json), input) },
    ...audioReaders(adapters),
  }
}

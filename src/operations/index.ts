import { parseEmbeddings } from '../kinds/embeddings/parse.ts'
import { parseImages } from '../kinds/images/parse.ts'
import { parseModeration } from '../protocols/openai/client/moderations.ts'
import { parseRerank } from '../kinds/rerank/parse.ts'
import { REQUEST_TYPE_TABLE, type AnsweredType } from '../tables/model-types.ts'
import type { AdapterTable } from '../protocols/ports/adapter.ts'
import type { Picture } from '../kinds/images/bytes.ts'
import { parseImageEdit, parseImageVariation, type ImageInput } from '../kinds/images/edits.ts'
import { SOURCES_MAX, type ImageRequest } from '../kinds/images/request.ts'
import type { Operation } from '../pay/relay/operation.ts'
import { cohereEmbedBody, parseCohereEmbed } from '../protocols/cohere/client/rerank.ts'
import { cohereRerankBody } from '../kinds/cohere/rerank.ts'
import { parseSpeech } from '../kinds/speech/parse.ts'
import { parseTranscription, parseTranscriptionForm } from '../kinds/transcription/parse.ts'
import type { TranscriptionRequest } from '../kinds/transcription/request.ts'
import { embeddingsOperations } from '../pay/operations/embeddings.ts'
import { geminiDoors } from './gemini-doors.ts'
import { moderationOperations } from '../pay/operations/moderations.ts'
import { ollamaDoors } from './ollama-doors.ts'
import { withSession, type OperationInput, type PaidKind, type RequestReader } from './paid-kind.ts'
import { rerankOperations } from './rerank.ts'
import { textReaders } from './text-kinds.ts'
import { imageKind, type KeepPictures } from '../pay/operations/image-kind.ts'
import { unitOperation } from './unit.ts'
import { speechOperations } from './speech.ts'
import { transcriptionKind } from '../pay/operations/transcription-kind.ts'

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
  return [...kinds, ...imageDoors(draw), ...geminiDoors(adapters), ...cohereDoors(adapters), ...ollamaDoors(adapters)]
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

/** Keeps a picture for a while; answers its path after `publicUrl`. */
interface KeptPictures {
  keep(accountId: string, picture: Picture): Promise<string>
}

type ImageOperations = (request: ImageRequest, input: Pick<OperationInput, 'sessionId' | 'publicUrl'>) => Operation

function imageOperations(adapters: AdapterTable, pictures: KeptPictures): ImageOperations {
  return (request, { sessionId, publicUrl }) => {
    const keep: KeepPictures = (accountId, all) =>
      Promise.all(all.map(async (picture) => publicUrl + (await pictures.keep(accountId, picture))))
    return unitOperation(withSession(request, sessionId), imageKind(adapters, keep))
  }
}

/** OpenAI's other calls for pictures (clients.md 6), each as a request of the image type. */
function imageDoors(operation: ImageOperations): readonly PaidKind[] {
  const door = (path: string, parse: (input: ImageInput) => ImageRequest): PaidKind => ({
    body: 'json-or-multipart',
    // And one for a mask.
    filesMax: SOURCES_MAX + 1,
    paths: [path],
    read: (input) => operation(parse(input.form === null ? { json: input.json } : { form: input.form }), input),
  })
  return [door('/v1/images/edits', parseImageEdit), door('/v1/images/variations', parseImageVariation)]
}

/** The other calls of Cohere's v2 (clients.md 6), each as a request of an existing type. */
function cohereDoors(adapters: AdapterTable): readonly PaidKind[] {
  const embed = embeddingsOperations(adapters, cohereEmbedBody)
  const rerank = rerankOperations(adapters, cohereRerankBody)
  return [
    {
      body: 'json',
      paths: ['/v2/embed'],
      read: ({ json, sessionId }) => embed(withSession(parseCohereEmbed(json), sessionId)),
    },
    {
      body: 'json',
      paths: ['/v2/rerank'],
      // Its clients have the documents and refer to them by index.
      read: ({ json, sessionId }) => rerank(withSession({ ...parseRerank(json), returnDocuments: false }, sessionId)),
    },
  ]
}

/** Requests of the types for speech and transcription. */
function audioReaders(
  adapters: AdapterTable,
): Readonly<Record<'tts' | 'transcription' | 'translation', RequestReader>> {
  const speak = speechOperations(adapters)
  return {
    tts: { body: 'json', read: ({ json, sessionId }) => speak(withSession(parseSpeech(json), sessionId)) },
    transcription: transcriptions('transcribe', adapters),
    translation: transcriptions('translate', adapters),
  }
}

function transcriptions(task: TranscriptionRequest['task'], adapters: AdapterTable): RequestReader {
  const kind = transcriptionKind(task, adapters)
  return {
    body: 'json-or-multipart',
    read: ({ json, form, sessionId }) =>
      unitOperation(
        withSession(form === null ? parseTranscription(json, task) : parseTranscriptionForm(form, task), sessionId),
        kind,
      ),
  }
}

import { readMessages } from '../../protocols/anthropic/client/calls.ts'
import { COHERE_CALLS, readCohereChat } from '../../protocols/cohere/client/calls.ts'
import { GEMINI_CALLS, readGenerateContent } from '../../protocols/gemini/client/calls.ts'
import { OLLAMA_CALLS } from '../../protocols/ollama/client/calls.ts'
import { readChat } from '../../protocols/openai/client/chat/call.ts'
import { parseCompletions } from '../../protocols/openai/client/completions.ts'
import { parseEmbeddings } from '../../protocols/openai/client/embeddings.ts'
import {
  parseImageEdit,
  parseImages,
  parseImageVariation,
  type ImageInput,
} from '../../protocols/openai/client/images.ts'
import { parseModeration } from '../../protocols/openai/client/moderations.ts'
import { parseRerank } from '../../protocols/openai/client/rerank.ts'
import { parseSpeech } from '../../protocols/openai/client/speech.ts'
import { parseTranscription, parseTranscriptionForm } from '../../protocols/openai/client/transcription.ts'
import type { AdapterTable } from '../../protocols/ports/adapter.ts'
import type { ClientCall, ClientChat, ClientInput } from '../../protocols/ports/client-call.ts'
import type { Picture } from '../../kinds/images/bytes.ts'
import { SOURCES_MAX, type ImageRequest } from '../../kinds/images/request.ts'
import type { TranscriptionRequest } from '../../kinds/transcription/request.ts'
import { REQUEST_TYPE_TABLE, type AnsweredType } from '../../tables/model-types.ts'
import type { Operation } from '../relay/operation.ts'
import { responsesReader, type ResponsesPorts } from '../responses/responses-reader.ts'
import { chatOperation } from './chat.ts'
import { completionsOperation } from './completions.ts'
import { embeddingsOperations } from './embeddings.ts'
import { imageKind } from './image-kind.ts'
import { moderationOperations } from './moderations.ts'
import type { PaidKind, RequestReader } from './paid-kind.ts'
import { rerankOperations } from './rerank.ts'
import { speechOperations } from './speech.ts'
import { transcriptionKind } from './transcription-kind.ts'
import { unitOperation } from './unit.ts'

/** Keeps a picture for a while; answers its path after the service's address. */
interface KeptPictures {
  keep(accountId: string, picture: Picture): Promise<string>
}

/** The parts that kinds need besides providers. */
export interface KindPorts {
  readonly pictures: KeptPictures
  readonly responses: ResponsesPorts
}

/** The calls of other protocols, each as a request of an existing type. */
const CALLS: readonly ClientCall[] = [...GEMINI_CALLS, ...COHERE_CALLS, ...OLLAMA_CALLS]

/** Every paid kind whose answer comes with the request. A type without a reader does not compile. */
export function paidKinds(adapters: AdapterTable, ports: KindPorts): readonly PaidKind[] {
  const draw = imageOperations(adapters, ports.pictures)
  const readers = requestReaders(adapters, draw, ports.responses)
  // The keys of the readers are exactly these types.
  const kinds = (Object.keys(readers) as AnsweredType[]).map((type) => ({
    paths: REQUEST_TYPE_TABLE[type].paths,
    ...readers[type],
  }))
  return [...kinds, ...imageEdits(draw), ...CALLS.map((call) => kindOf(call, adapters))]
}

function requestReaders(
  adapters: AdapterTable,
  draw: ImageOperations,
  responses: ResponsesPorts,
): Readonly<Record<AnsweredType, RequestReader>> {
  const chat = (read: (input: ClientInput) => ClientChat): RequestReader => ({
    body: 'json',
    read: (input) => chatOperation(read(input), adapters),
  })
  const embed = embeddingsOperations(adapters)
  const judge = moderationOperations(adapters)
  const rank = rerankOperations(adapters)
  const speak = speechOperations(adapters)
  return {
    chat: chat(readChat),
    responses: responsesReader(adapters, responses),
    messages: chat(readMessages),
    generate_content: { ...chat(readGenerateContent), protocol: 'gemini' },
    cohere_chat: chat(readCohereChat),
    completions: { body: 'json', read: ({ json }) => completionsOperation(parseCompletions(json), adapters) },
    embeddings: { body: 'json', read: ({ json }) => embed(parseEmbeddings(json)) },
    rerank: { body: 'json', read: ({ json }) => rank(parseRerank(json)) },
    moderation: { body: 'json', read: ({ json }) => judge(parseModeration(json)) },
    image: { body: 'json', read: (input) => draw(parseImages(input.json), input) },
    tts: { body: 'json', read: ({ json }) => speak(parseSpeech(json)) },
    transcription: transcriptions('transcribe', adapters),
    translation: transcriptions('translate', adapters),
  }
}

function kindOf(call: ClientCall, adapters: AdapterTable): PaidKind {
  const { paths, protocol } = call
  return { body: 'json', paths, ...(protocol === undefined ? {} : { protocol }), read: readerOf(call, adapters) }
}

function readerOf(call: ClientCall, adapters: AdapterTable): RequestReader['read'] {
  switch (call.kind) {
    case 'chat':
      return (input) => chatOperation(call.read(input), adapters)
    case 'embeddings': {
      const embed = embeddingsOperations(adapters, call.write)
      return (input) => embed(call.read(input))
    }
    case 'rerank': {
      const rank = rerankOperations(adapters, call.write)
      return (input) => rank(call.read(input))
    }
  }
}

type ImageOperations = (request: ImageRequest, input: Pick<ClientInput, 'publicUrl'>) => Operation

function imageOperations(adapters: AdapterTable, pictures: KeptPictures): ImageOperations {
  return (request, { publicUrl }) => {
    const kind = imageKind(adapters, (accountId, all) =>
      Promise.all(all.map(async (picture) => publicUrl + (await pictures.keep(accountId, picture)))),
    )
    return unitOperation(request, kind)
  }
}

/** OpenAI's other calls for pictures (clients.md 6), each as a request of the image type. */
function imageEdits(operation: ImageOperations): readonly PaidKind[] {
  const edit = (path: string, parse: (input: ImageInput) => ImageRequest): PaidKind => ({
    body: 'json-or-multipart',
    // And one for a mask.
    filesMax: SOURCES_MAX + 1,
    paths: [path],
    read: (input) => operation(parse(input.form === null ? { json: input.json } : { form: input.form }), input),
  })
  return [edit('/v1/images/edits', parseImageEdit), edit('/v1/images/variations', parseImageVariation)]
}

function transcriptions(task: TranscriptionRequest['task'], adapters: AdapterTable): RequestReader {
  const kind = transcriptionKind(task, adapters)
  return {
    body: 'json-or-multipart',
    read: async ({ json, form }) =>
      unitOperation(await (form === null ? parseTranscription(json, task) : parseTranscriptionForm(form, task)), kind),
  }
}

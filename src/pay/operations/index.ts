import { Reread } from '../../base/reread.ts'
import { CLIENTS } from '../../protocols/clients.ts'
import { readChat } from '../../protocols/openai/client/chat/call.ts'
import { parseCompletions } from '../../protocols/openai/client/completions.ts'
import { parseEmbeddings } from '../../protocols/openai/client/embeddings.ts'
import {
  parseImageEdit,
  parseImages,
  parseImageVariation,
  type ImageInput,
} from '../../protocols/openai/client/images.ts'
import { parseRerank } from '../../protocols/openai/client/rerank.ts'
import { parseSpeech } from '../../protocols/openai/client/speech.ts'
import { parseTranscription, parseTranscriptionForm } from '../../protocols/openai/client/transcription.ts'
import type { AdapterPorts, AdapterTable } from '../../protocols/ports/adapter.ts'
import type { ClientCall, ClientChat, ClientInput } from '../../protocols/ports/client-call.ts'
import type { Picture } from '../../kinds/images/bytes.ts'
import { SOURCES_MAX, type ImageRequest } from '../../kinds/images/request.ts'
import type { TranscriptionRequest } from '../../kinds/transcription/request.ts'
import { REQUEST_TYPE_TABLE, type AnsweredType } from '../../tables/model-types.ts'
import type { PaidKind, PaidRoom, RequestReader } from '../paid-room.ts'
import type { Operation } from '../relay/operation.ts'
import { chatOperation } from './chat.ts'
import { completionsOperation } from './completions.ts'
import { embeddingsOperations } from './embeddings.ts'
import { imageKind } from './image-kind.ts'
import { moderationReader } from './moderations.ts'
import { rerankOperations } from './rerank.ts'
import { speechOperations } from './speech.ts'
import { transcriptionKind } from './transcription-kind.ts'
import { unitOperation } from './unit.ts'

/** Stores a picture for a while; returns its path below the service's address. */
interface KeptPictures {
  keep(accountId: string, picture: Picture): Promise<string>
}

/** The parts that kinds need besides providers. */
export interface KindPorts {
  readonly pictures: KeptPictures
  readonly upstream: AdapterPorts
  /** Their kinds come in the place of others with the same paths. */
  readonly rooms: readonly Pick<PaidRoom, 'kinds'>[]
}

/** Every paid kind whose answer comes with the request. */
export function paidKinds(adapters: AdapterTable, { pictures, upstream, rooms }: KindPorts): readonly PaidKind[] {
  const draw = imageOperations(adapters, pictures)
  const own = Object.entries(requestReaders(adapters, draw, upstream)).map(([type, reader]) => ({
    // These are all keys of the readers.
    paths: REQUEST_TYPE_TABLE[type as AnsweredType].paths,
    ...reader,
  }))
  const calls = Object.values(CLIENTS).flatMap((side) => side.calls.map((call) => kindOf(call, adapters)))
  const fuller = rooms.flatMap(({ kinds = [] }) => kinds)
  const taken = new Set(fuller.flatMap(({ paths }) => paths))
  const plain = [...own, ...imageEdits(draw), ...calls].filter(({ paths }) => !paths.some((path) => taken.has(path)))
  return [...plain, ...fuller]
}

/** OpenAI's calls; the calls of other protocols are rows of `CLIENTS`. */
function requestReaders(
  adapters: AdapterTable,
  draw: ImageOperations,
  upstream: AdapterPorts,
): Readonly<Partial<Record<AnsweredType, RequestReader>>> {
  const embed = embeddingsOperations(adapters)
  const rank = rerankOperations(adapters)
  const speak = speechOperations(adapters)
  return {
    chat: { body: 'json', read: (input) => chatOperation(Reread.of(input, readAnyChat), adapters) },
    completions: { body: 'json', read: ({ json }) => completionsOperation(parseCompletions(json), adapters) },
    embeddings: { body: 'json', read: ({ json }) => embed(parseEmbeddings(json)) },
    rerank: { body: 'json', read: ({ json }) => rank(parseRerank(json)) },
    moderation: moderationReader(adapters, upstream),
    image: { body: 'json', read: (input) => draw(parseImages(input.json), input) },
    tts: { body: 'json', read: ({ json }) => speak(parseSpeech(json)) },
    transcription: transcriptions('transcribe', adapters),
    translation: transcriptions('translate', adapters),
  }
}

const MIXED = Object.values(CLIENTS).flatMap(({ mixed }) => mixed ?? [])

/** A chat, or what a body of another protocol that was posted to chat means there. */
function readAnyChat(input: ClientInput): ClientChat {
  for (const read of MIXED) {
    const chat = read(input.json)
    if (chat !== null) return chat
  }
  return readChat(input)
}

function kindOf(call: ClientCall, adapters: AdapterTable): PaidKind {
  const { paths, protocol } = call
  return { body: 'json', paths, ...(protocol === undefined ? {} : { protocol }), read: readerOf(call, adapters) }
}

function readerOf(call: ClientCall, adapters: AdapterTable): RequestReader['read'] {
  switch (call.kind) {
    case 'chat':
      return (input) =>
        chatOperation(
          Reread.of(input, (given) => call.read(given)),
          adapters,
        )
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
    // One more file for a mask.
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

import type { ChatMessage, ChatPart } from '../../kinds/chat/request.ts'
import { dataOf, type DataUrl, type MediaUrl } from '../../kinds/fields/media.ts'
import { UnsendableError } from '../ports/call.ts'
import { markedTtl } from '../models/claude-request.ts'
import type { BedrockModel } from './bedrock-model.ts'

/** The protocol's format name for each media type. */
const IMAGE_FORMATS: ReadonlyMap<string, string> = new Map([
  ['image/png', 'png'],
  ['image/jpeg', 'jpeg'],
  ['image/gif', 'gif'],
  ['image/webp', 'webp'],
])
const VIDEO_FORMATS: ReadonlyMap<string, string> = new Map([
  ['video/mp4', 'mp4'],
  ['video/webm', 'webm'],
  ['video/quicktime', 'mov'],
  ['video/x-matroska', 'mkv'],
  ['video/x-flv', 'flv'],
  ['video/mpeg', 'mpeg'],
  ['video/x-ms-wmv', 'wmv'],
  ['video/3gpp', 'three_gp'],
])
const DOCUMENT_FORMATS: ReadonlyMap<string, string> = new Map([
  ['application/pdf', 'pdf'],
  ['text/csv', 'csv'],
  ['application/msword', 'doc'],
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'docx'],
  ['application/vnd.ms-excel', 'xls'],
  ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'xlsx'],
  ['text/html', 'html'],
  ['text/plain', 'txt'],
  ['text/markdown', 'md'],
])
const NAME_CHARS_MAX = 200
const NAME_DEFAULT = 'document'

export type BedrockBlock = Readonly<Record<string, unknown>>

/** A block and the cache point right after it. */
export interface Piece {
  readonly block: BedrockBlock
  readonly cachePoint: BedrockBlock | null
}

/** Settings and state that the blocks of one request share. */
export interface ContentContext {
  readonly model: BedrockModel
  /** Document names used so far: the protocol refuses duplicates. */
  readonly documentNames: Set<string>
}

/** The content of a message as blocks. Text that is only white space is left out: the protocol refuses it. */
export function contentPieces(content: ChatMessage['content'], path: string, context: ContentContext): Piece[] {
  if (content === null) return []
  if (typeof content === 'string') return textPieces(content, null)
  return content.flatMap((part, index) => partPieces(part, `${path}.content[${index}]`, context))
}

/** The blocks in wire form, each followed by its cache point. */
export function blocksOf(pieces: readonly Piece[]): BedrockBlock[] {
  return pieces.flatMap(({ block, cachePoint }) => (cachePoint === null ? [block] : [block, { cachePoint }]))
}

function partPieces(part: ChatPart, path: string, context: ContentContext): Piece[] {
  switch (part.type) {
    case 'text':
      return textPieces(part.text, cachePointOf(part.cache_control, path, context.model))
    case 'refusal':
      return textPieces(part.refusal, null)
    case 'image_url':
      return [
        {
          block: mediaBlock('image', part.image_url.url, IMAGE_FORMATS, `${path}.image_url.url`),
          cachePoint: cachePointOf(part.cache_control, path, context.model),
        },
      ]
    case 'video_url':
      return [
        { block: mediaBlock('video', part.video_url.url, VIDEO_FORMATS, `${path}.video_url.url`), cachePoint: null },
      ]
    case 'file':
      return [{ block: documentBlock(part.file, `${path}.file.file_data`, context.documentNames), cachePoint: null }]
    case 'input_audio':
    case 'audio_url':
      throw new UnsendableError(`${path}: this provider takes no audio`)
  }
}

function textPieces(text: string, cachePoint: BedrockBlock | null): Piece[] {
  return text.trim() === '' ? [] : [{ block: { text }, cachePoint }]
}

/** Dropped where the model has no cache: the answer is the same. */
function cachePointOf(raw: unknown, path: string, { caches, namesCacheTime }: BedrockModel): BedrockBlock | null {
  const ttl = markedTtl(raw, path)
  if (ttl === undefined || !caches) return null
  return ttl === null || !namesCacheTime ? { type: 'default' } : { type: 'default', ttl }
}

function mediaBlock<Kind extends 'image' | 'video'>(
  kind: Kind,
  url: MediaUrl<Kind>,
  formats: ReadonlyMap<string, string>,
  path: string,
): BedrockBlock {
  const { mediaType, data } = dataUrl(url, path)
  const format = formats.get(mediaType)
  if (format === undefined)
    throw new UnsendableError(
      `${path}: must be ${kind === 'image' ? 'an image' : 'a video'} of one of the types ${[...formats.keys()].join(', ')}`,
    )
  return { [kind]: { format, source: { bytes: data } } }
}

function documentBlock(
  { filename = '', file_data: file }: { readonly filename?: string; readonly file_data: string },
  path: string,
  names: Set<string>,
): BedrockBlock {
  const { mediaType, data } = dataUrl(file, path)
  const format = DOCUMENT_FORMATS.get(mediaType)
  if (format === undefined)
    throw new UnsendableError(`${path}: must be a PDF, CSV, Word, Excel, HTML, Markdown or plain text document`)
  return { document: { format, name: documentName(filename, names), source: { bytes: data } } }
}

/** The data as base64; nobody fetches an address. */
function dataUrl(url: string, path: string): DataUrl {
  const found = dataOf(url)
  if (found === null)
    throw new UnsendableError(
      `${path}: this provider fetches no addresses, send the data itself as a data URL in base64`,
    )
  return found
}

/** A name of characters that the protocol accepts, unique in the request; it is added to `names`. */
function documentName(filename: string, names: Set<string>): string {
  const plain = filename
    .replace(/\.[a-z0-9]{1,5}$/i, '')
    .replaceAll(/[^a-zA-Z0-9()[\]-]+/g, ' ')
    .trim()
  // Leaves room for a number after a repeated name.
  const base = plain.slice(0, NAME_CHARS_MAX - 10).trimEnd() || NAME_DEFAULT
  let name = base
  for (let count = 2; names.has(name); count += 1) name = `${base} (${count})`
  names.add(name)
  return name
}

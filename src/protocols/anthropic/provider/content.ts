import type { ChatMessage, ChatPart } from '../../../kinds/chat/request.ts'
import { UnsendableError } from '../../ports/upstream-request.ts'
import { readDataUrl, type DataUrl } from '../../../providers/wire/data-url.ts'
import { objectOf } from '../../wire/raw-json.ts'

export type AnthropicBlock = Readonly<Record<string, unknown>>

const IMAGE_TYPES: ReadonlySet<string> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp'])

/** The content of a message as blocks. Text that is only white space is left out: the protocol refuses it. */
export function contentBlocks(content: ChatMessage['content'], path: string): AnthropicBlock[] {
  if (content === null) return []
  if (typeof content === 'string') return textBlocks(content, undefined, path)
  return content.flatMap((part, index) => partBlocks(part, `${path}.content[${index}]`))
}

/** The text of a system message, whose content must be text. */
export function systemBlocks(content: ChatMessage['content'], path: string): AnthropicBlock[] {
  const blocks = contentBlocks(content, path)
  if (blocks.some((block) => block['type'] !== 'text'))
    throw new UnsendableError(`${path}.content: a system message can only hold text at this provider`)
  return blocks
}

function partBlocks(part: ChatPart, path: string): AnthropicBlock[] {
  switch (part.type) {
    case 'text':
      return textBlocks(part.text, part.cache_control, path)
    case 'refusal':
      return textBlocks(part.refusal, undefined, path)
    case 'image_url':
      return [
        {
          type: 'image',
          source: imageSource(part.image_url.url, `${path}.image_url.url`),
          ...cacheMark(part.cache_control, path),
        },
      ]
    case 'file':
      return [documentBlock(part.file, `${path}.file.file_data`)]
    case 'input_audio':
    case 'video_url':
      throw new UnsendableError(`${path}: this provider takes no ${part.type === 'video_url' ? 'video' : 'audio'}`)
  }
}

function textBlocks(text: string, cacheControl: unknown, path: string): AnthropicBlock[] {
  return text.trim() === '' ? [] : [{ type: 'text', text, ...cacheMark(cacheControl, path) }]
}

function cacheMark(raw: unknown, path: string): { cache_control?: AnthropicBlock } {
  if (raw === undefined) return {}
  const mark = objectOf(raw)
  const ttl = mark?.['ttl'] ?? null
  if (mark?.['type'] !== 'ephemeral' || (ttl !== null && ttl !== '5m' && ttl !== '1h')) {
    throw new UnsendableError(`${path}.cache_control: must be {type: 'ephemeral'}, with a ttl of '5m' or '1h' or none`)
  }
  return { cache_control: ttl === null ? { type: 'ephemeral' } : { type: 'ephemeral', ttl } }
}

function imageSource(url: string, path: string): AnthropicBlock {
  if (isWebUrl(url)) return { type: 'url', url }
  const { mediaType, data } = dataUrl(url, path)
  if (!IMAGE_TYPES.has(mediaType)) throw new UnsendableError(`${path}: must be a JPEG, PNG, GIF or WebP image`)
  return { type: 'base64', media_type: mediaType, data }
}

function documentBlock(
  { filename, file_data: file }: { readonly filename?: string; readonly file_data: string },
  path: string,
): AnthropicBlock {
  const title = filename === undefined || filename === '' ? {} : { title: filename }
  if (isWebUrl(file)) return { type: 'document', source: { type: 'url', url: file }, ...title }
  const { mediaType, data } = dataUrl(file, path)
  if (mediaType === 'application/pdf')
    return { type: 'document', source: { type: 'base64', media_type: mediaType, data }, ...title }
  if (mediaType === 'text/plain')
    return {
      type: 'document',
      source: { type: 'text', media_type: mediaType, data: Buffer.from(data, 'base64').toString('utf8') },
      ...title,
    }
  throw new UnsendableError(`${path}: must be a PDF or plain text`)
}

function isWebUrl(url: string): boolean {
  return /^https?:\/\//i.test(url)
}

/** The image's data as base64, however it was written. */
function dataUrl(url: string, path: string): DataUrl {
  const found = readDataUrl(url, path)
  if (found === null) throw new UnsendableError(`${path}: must be an http or https address or a data URL`)
  return found
}

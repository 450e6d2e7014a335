import type { ChatMessage, ChatPart } from '../../kinds/chat/request.ts'

/** OpenAI's rule: 85 tokens at low detail, otherwise at most 85 + 8 tiles × 170. */
const IMAGE_LOW_TOKENS = 85
const IMAGE_TOKENS = 1_445
/** `original` detail is billed by patches, at most 10,000. */
const IMAGE_ORIGINAL_TOKENS = 10_000
/** The dearest of the audio rules in use, 32 tokens a second, at the slowest common bit rates. */
const AUDIO_TOKENS_PER_SECOND = 32
const AUDIO_RAW_BYTES_PER_SECOND = 8_000
const AUDIO_PACKED_BYTES_PER_SECOND = 2_000
const FILE_TOKENS = 3_000
const FILE_BYTES_PER_TOKEN = 32
const FILE_URL_TOKENS = 10_000
const VIDEO_BYTES_PER_TOKEN = 400
const VIDEO_URL_TOKENS = 20_000

/**
 * Input tokens of images, audio, files and video by rough rules of providers: only the provider knows the true number.
 */
export function mediaTokens(messages: readonly ChatMessage[]): number {
  let tokens = 0
  for (const { content } of messages) {
    if (!Array.isArray(content)) continue
    for (const part of content) tokens += partTokens(part)
  }
  return tokens
}

/** Images in the messages, for providers with a price per image. */
export function imageCount(messages: readonly ChatMessage[]): number {
  let images = 0
  for (const { content } of messages) {
    if (!Array.isArray(content)) continue
    for (const part of content) if (part.type === 'image_url') images += 1
  }
  return images
}

function partTokens(part: ChatPart): number {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return 0
    case 'image_url':
      return imageTokens(part.image_url.detail)
    case 'input_audio':
      return audioTokens(part.input_audio)
    case 'audio_url':
      return FILE_URL_TOKENS
    case 'file':
      return fileTokens(part.file.file_data)
    case 'video_url':
      return part.video_url.url.startsWith('data:')
        ? Math.ceil(decodedBytes(part.video_url.url) / VIDEO_BYTES_PER_TOKEN)
        : VIDEO_URL_TOKENS
  }
}

function imageTokens(detail: string | undefined): number {
  if (detail === 'low') return IMAGE_LOW_TOKENS
  return detail === 'original' ? IMAGE_ORIGINAL_TOKENS : IMAGE_TOKENS
}

function audioTokens({ data, format }: { readonly data: string; readonly format: string }): number {
  const raw = format === 'wav' || format.startsWith('pcm')
  const seconds = decodedBytes(data) / (raw ? AUDIO_RAW_BYTES_PER_SECOND : AUDIO_PACKED_BYTES_PER_SECOND)
  return Math.ceil(seconds * AUDIO_TOKENS_PER_SECOND)
}

function fileTokens(data: string): number {
  if (/^https?:/i.test(data)) return FILE_URL_TOKENS
  // A text file has about one token for every three bytes; other documents are compressed and contain pictures.
  if (/^data:text\//i.test(data)) return Math.ceil(decodedBytes(data) / 3)
  return FILE_TOKENS + Math.ceil(decodedBytes(data) / FILE_BYTES_PER_TOKEN)
}

/** The bytes behind base64 text, its `data:` head included: close enough for a rule of thumb. */
function decodedBytes(base64: string): number {
  return (base64.length * 3) / 4
}

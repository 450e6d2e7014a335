import type { ChatMessage, ChatPart } from '../../kinds/chat/request.ts'
import type { Endpoint } from '../../catalog/catalog.ts'

/** OpenAI's rule: 85 tokens at low detail, otherwise at most 85 + 8 tiles × 170. */
const IMAGE_LOW_TOKENS = 85
const IMAGE_TOKENS = 1_445
/** At `original` detail an image is billed by patches, of which there are at most 10,000. */
const IMAGE_ORIGINAL_TOKENS = 10_000
/** The dearest rule for audio in use, 32 tokens a second, at the slowest common bit rates. */
const AUDIO_TOKENS_PER_SECOND = 32
const AUDIO_RAW_BYTES_PER_SECOND = 8_000
const AUDIO_PACKED_BYTES_PER_SECOND = 2_000
const FILE_TOKENS = 3_000
const FILE_BYTES_PER_TOKEN = 32
const FILE_URL_TOKENS = 10_000
const VIDEO_BYTES_PER_TOKEN = 400
const VIDEO_URL_TOKENS = 20_000

/**
 * Input tokens of images, audio, files and video by the rough rules of providers: only the provider knows the true
 * number.
 */
export function mediaTokens(messages: readonly ChatMessage[]): number {
  let tokens = 0
  for (const { content } of messages) {
    if (!Array.isArray(content)) continue
    for (const part of content) tokens += partTokens(part)
  }
  return tokens
}

/** The number of images in the messages, for providers with a price per image. */
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

/** The number of bytes that base64 text encodes, its `data:` head included: close enough for a rough rule. */
function decodedBytes(base64: string): number {
  return (base64.length * 3) / 4
}

interface PictureRule {
  readonly model: RegExp
  /** The most tokens of one picture; `low` and `high` if that `detail` needs fewer. */
  readonly most: number
  readonly low?: number
  readonly high?: number
}

/** By OpenAI's page "Images and vision": a base and eight tiles, for a picture reduced to 2,048 by 768 pixels. */
function tiles(model: RegExp, base: number, tile: number): PictureRule {
  return { model, most: base + 8 * tile, low: base }
}

/** By the same page: patches of 32 pixels, multiplied by the model's factor and rounded up. */
function patches(
  model: RegExp,
  factor: number,
  counts: { readonly most: number; readonly low?: number; readonly high?: number },
): PictureRule {
  const { most, low = most, high = most } = counts
  return { model, most: Math.ceil(most * factor), low: Math.ceil(low * factor), high: Math.ceil(high * factor) }
}

/** Patches of a picture with at most 2,048 pixels a side. */
const PATCHES_OF_2048 = 4_096
/** The most patches at detail `high`. */
const PATCHES_HIGH = 2_500
/** Patches of a picture that fits 512 by 512 pixels. */
const PATCHES_OF_512 = 256

/**
 * The most tokens of one picture in the provider's documentation, by the model's own name. The first matching row
 * applies. Without a row, a picture may fill the model's whole context. That includes models whose provider documents
 * no maximum (OpenAI's codex and pro models of the fifth generation, open weights at any host). For `gpt-5-mini` and
 * `gpt-5-nano` the page has shown two factors; the larger is used here.
 */
const PICTURES: readonly PictureRule[] = [
  // OpenAI, "Images and vision" (model sizing behavior, calculating costs) and "Image input token and cost calculator".
  tiles(/^gpt-4o-mini/, 2_833, 5_667),
  tiles(/^(gpt-4o|chatgpt-4o|gpt-4\.1(?!-mini|-nano)|gpt-4\.5|gpt-4-turbo|gpt-4-vision)/, 85, 170),
  tiles(/^gpt-5(\.1)?(-chat(-latest)?)?(-20\d\d-\d\d-\d\d)?$/, 70, 140),
  tiles(/^(o1|o3)(?!-mini)/, 75, 150),
  patches(/^(gpt-4\.1|gpt-5)-mini/, 1.62, { most: PATCHES_OF_2048 }),
  patches(/^(gpt-4\.1|gpt-5)-nano/, 2.46, { most: PATCHES_OF_2048 }),
  patches(/^o4-mini/, 1.72, { most: PATCHES_OF_2048 }),
  patches(/^gpt-5\.2(-20\d\d-\d\d-\d\d)?$/, 1.2, { most: PATCHES_OF_2048 }),
  // Here `low` does not give the smallest picture: it allows 2,048 pixels without the bound of `high`.
  patches(/^gpt-5\.4(-mini|-nano)?(-20\d\d-\d\d-\d\d)?$/, 1.2, {
    most: 10_000,
    low: PATCHES_OF_2048,
    high: PATCHES_HIGH,
  }),
  patches(/^gpt-5\.5(-20\d\d-\d\d-\d\d)?$/, 1.2, { most: 10_000, low: PATCHES_OF_512, high: PATCHES_HIGH }),
  // Without a `detail` nothing is reduced; a picture of more than 30,000 patches is refused.
  patches(/^gpt-(5\.6|6(\.\d)?)(-(sol|terra|luna|astra))?(-20\d\d-\d\d-\d\d)?$/, 1.2, {
    most: 30_000,
    low: PATCHES_OF_512,
    high: PATCHES_HIGH,
  }),
  // Anthropic, "Images and vision": a token for each 28 by 28 pixels, of which there are at most 1,568, or 4,784 from
  // Opus 4.7 and the fifth generation on.
  { model: /^(.*\.)?claude-(3\b|(opus|sonnet|haiku)-4([-.][0-6])?(?![-.]?\d{1,2}\b))/, most: 1_568 },
  { model: /^(.*\.)?claude-/, most: 4_784 },
  // Google, "Media resolution": 1,120 tokens, or 2,240 at the highest resolution, which we never request.
  { model: /^gemini-3/, most: 2_240 },
  // Google, "Image understanding": 258 tokens for each tile of 256 to 768 pixels of a picture that fits 3,072. A narrow
  // picture has at most 24 tiles; the whole picture counts as one more.
  { model: /^gemini-[12]/, most: 25 * 258 },
  // xAI, "Consumption and rate limits": from 256 to 1,792 tokens.
  { model: /^grok-/, most: 1_792 },
  // Mistral, model cards: patches of 16 pixels of a picture of 1,024 by 1,024, or of 28 pixels of 1,540 by 1,540, and
  // one more for each row.
  { model: /^(pixtral|mistral-(small|medium|large)|ministral)/, most: 4_096 + 64 },
]
/** The sandbox counts every picture the same. */
const SANDBOX_PICTURE_TOKENS = 1_500
const DRAWING = 'data:image/svg'
const TEXT_FILE = /^data:text\/[^,]{0,200};base64,/i
/** Readers of documents look for the signature of a format in this many first bytes. */
const MARK_BYTES = 1_100
const DOCUMENT_NAME = /\.(?:pdf|docx?|pptx?|xlsx?|odt|ods|odp|epub|zip)$/i

/** The parts of a prompt that may fill the context, in words for people. */
export type Unmeasured = 'pictures' | 'documents' | 'sound' | 'video'

export interface MediaBound {
  /** The most tokens of all media that have a known bound; the context bounds the others. */
  readonly tokens: number
  /** Media that only the provider can count: with one of them the prompt may fill the context. */
  readonly unmeasured: ReadonlySet<Unmeasured>
}

const NOTHING: MediaBound = Object.freeze({ tokens: 0, unmeasured: new Set<Unmeasured>() })

function isText({ content, audio }: ChatMessage): boolean {
  return audio === undefined && !Array.isArray(content)
}

/** The most tokens that pictures, documents, sound and video of a prompt can have at an endpoint. */
export function mediaBound(messages: readonly ChatMessage[], endpoint: Endpoint): MediaBound {
  // Most prompts are only text, and every plan calls this.
  if (messages.every(isText)) return NOTHING
  let tokens = 0
  const unmeasured = new Set<Unmeasured>()
  for (const { content, audio } of messages) {
    // The sound of an earlier answer, which the provider has stored.
    if (audio !== undefined) unmeasured.add('sound')
    if (!Array.isArray(content)) continue
    for (const part of content) {
      const most = partBound(part, endpoint)
      if (typeof most === 'number') tokens += most
      else unmeasured.add(most)
    }
  }
  return { tokens, unmeasured }
}

/** The number of the catalogue row, else of the provider; the name of the medium = it has no bound. */
function partBound(part: ChatPart, endpoint: Endpoint): number | Unmeasured {
  const { mediaTokens } = endpoint
  switch (part.type) {
    case 'text':
    case 'refusal':
      return 0
    case 'image_url': {
      const { url, detail } = part.image_url
      const most = mediaTokens?.image ?? pictureTokensMax(endpoint, detail) ?? 'pictures'
      // An SVG picture is text, and some providers read it as text.
      return typeof most === 'number' && url.startsWith(DRAWING) ? Math.max(most, url.length) : most
    }
    case 'input_audio':
    case 'audio_url':
      return mediaTokens?.audio ?? 'sound'
    case 'file':
      // The bytes of a text file bound its tokens. Those of a document do not: it is compressed and contains pictures.
      if (isTextFile(part.file)) return part.file.file_data.length
      return mediaTokens?.file ?? 'documents'
    case 'video_url':
      return mediaTokens?.video ?? 'video'
  }
}

/**
 * Whether every provider reads the file as text. The client declares the type, but some providers judge by the name or
 * the first bytes.
 */
function isTextFile({
  file_data: data,
  filename = '',
}: {
  readonly file_data: string
  readonly filename?: string
}): boolean {
  const head = TEXT_FILE.exec(data)?.[0]
  if (head === undefined || DOCUMENT_NAME.test(filename.trimEnd())) return false
  const bytes = Buffer.from(data.slice(head.length, head.length + MARK_BYTES * 2), 'base64').toString(
    'latin1',
    0,
    MARK_BYTES,
  )
  return !bytes.includes('%PDF') && !bytes.startsWith('PK') && !bytes.startsWith('\u00d0\u00cf\u0011\u00e0')
}

/** null = the provider documents no number. */
export function pictureTokensMax(
  { upstreamModel, provider }: Pick<Endpoint, 'upstreamModel' | 'provider'>,
  detail: string | undefined,
): number | null {
  if (provider.adapter === 'sandbox') return SANDBOX_PICTURE_TOKENS
  const name = upstreamModel.toLowerCase().split('/').at(-1) ?? ''
  const rule = PICTURES.find(({ model }) => model.test(name))
  if (rule === undefined) return null
  if (detail === 'low') return rule.low ?? rule.most
  return detail === 'high' ? (rule.high ?? rule.most) : rule.most
}

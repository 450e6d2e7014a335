import type { Endpoint } from '../catalog/catalog.ts'
import type { ChatMessage, ChatPart } from '../kinds/chat-request.ts'

interface PictureRule {
  readonly model: RegExp
  /** Most tokens of one picture, and of one in low detail where that is less. */
  readonly most: number
  readonly low?: number
}

/**
 * What providers document as the most that one picture comes to, by the model's own name. The first row that fits counts; a
 * model that no row fits reads a picture for all that its context holds.
 */
const PICTURES: readonly PictureRule[] = [
  // Tiles: the longer side is cut to 2,048 pixels and the shorter to 768, which is at most eight.
  { model: /^gpt-4o-mini/, most: 2_833 + 8 * 5_667, low: 2_833 },
  { model: /^(gpt-4o|chatgpt-4o|gpt-4\.1(?!-mini|-nano)|gpt-4\.5|gpt-4-turbo|gpt-4-vision)/, most: 85 + 8 * 170, low: 85 },
  { model: /^gpt-5(-chat|-pro|-20\d\d|$)/, most: 70 + 8 * 140, low: 70 },
  { model: /^(o1|o3)(?!-mini)/, most: 75 + 8 * 150, low: 75 },
  // Patches of 32 pixels, weighed by the model's factor: 1,536 of them, from gpt-5.4 on 10,000.
  { model: /^(gpt-4\.1|gpt-5)-mini/, most: 2_489 },
  { model: /^(gpt-4\.1|gpt-5)-nano/, most: 3_779 },
  { model: /^o4-mini/, most: 2_642 },
  { model: /^gpt-(5\.\d|6).*-(mini|nano)/, most: 24_600 },
  { model: /^gpt-(5\.\d|6)/, most: 10_000 },
  { model: /^claude-/, most: 4_800 },
  // Sixteen tiles of 258 at the largest size that is kept.
  { model: /^gemini-/, most: 4_400 },
  { model: /^grok-/, most: 2_048 },
  { model: /^(pixtral|mistral-(small|medium|large)|ministral)/, most: 4_224 },
]
/** The sandbox reads every picture alike. */
const SANDBOX_PICTURE_TOKENS = 1_500
const TEXT_FILE = /^data:text\//i

/** What of a prompt may fill the context, in words for people. */
export type Unmeasured = 'pictures' | 'documents' | 'sound' | 'video'

export interface MediaBound {
  /** The most tokens of all that can be told; the context bounds the rest. */
  readonly tokens: number
  /** What only the provider can tell: with any of it the prompt may fill the context. */
  readonly unmeasured: ReadonlySet<Unmeasured>
}

const NOTHING: MediaBound = Object.freeze({ tokens: 0, unmeasured: new Set<Unmeasured>() })

function isText({ content, audio }: ChatMessage): boolean {
  return audio === undefined && !Array.isArray(content)
}

/** The most that pictures, documents, sound and video of a prompt can come to at an endpoint. */
export function mediaBound(messages: readonly ChatMessage[], endpoint: Endpoint): MediaBound {
  // Most prompts are text alone, and every plan asks.
  if (messages.every(isText)) return NOTHING
  let tokens = 0
  const unmeasured = new Set<Unmeasured>()
  for (const { content, audio } of messages) {
    // An earlier answer that the provider has kept.
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

/** A provider's own number, that of the catalogue row before it, or the name of what has none. */
function partBound(part: ChatPart, endpoint: Endpoint): number | Unmeasured {
  const { mediaTokens } = endpoint
  switch (part.type) {
    case 'text':
    case 'refusal':
      return 0
    case 'image_url':
      return mediaTokens?.image ?? pictureTokensMax(endpoint, part.image_url.detail) ?? 'pictures'
    case 'input_audio':
      return mediaTokens?.audio ?? 'sound'
    case 'file':
      // Bytes of a text are a bound of their own, which a document's are not: it is packed, and holds pictures.
      if (TEXT_FILE.test(part.file.file_data)) return part.file.file_data.length
      return mediaTokens?.file ?? 'documents'
    case 'video_url':
      return mediaTokens?.video ?? 'video'
  }
}

/** null = no document of the provider's says. */
export function pictureTokensMax({ upstreamModel, provider }: Pick<Endpoint, 'upstreamModel' | 'provider'>, detail: string | undefined): number | null {
  if (provider.adapter === 'sandbox') return SANDBOX_PICTURE_TOKENS
  const name = upstreamModel.toLowerCase().split('/').at(-1) ?? ''
  const rule = PICTURES.find(({ model }) => model.test(name))
  if (rule === undefined) return null
  return detail === 'low' ? (rule.low ?? rule.most) : rule.most
}

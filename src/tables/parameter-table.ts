import type { PriceKey } from './meter-table.ts'

/** The fee of a parameter that can add to the provider's bill beyond the usage that every request has a hold for. */
interface Fee {
  /** The item on the provider's bill. */
  readonly bills: string
  /**
   * The price that the endpoint must have for the parameter to be sent; null = no price can cover it, so it is never
   * sent.
   */
  readonly price: PriceKey | null
  /** `listed` = sent only to an endpoint that lists it; `carried` = also to one that lists no parameters. */
  readonly where: 'listed' | 'carried'
}

interface ParameterRow {
  /**
   * `units` = it changes only the number of tokens, pictures, characters or seconds, which are counted and covered by
   * the hold. A parameter with a fee goes only to an endpoint that lists and prices it; elsewhere it is dropped.
   */
  readonly cost: 'units' | Fee
  /**
   * `chat` = a parameter of OpenAI's chat and its dialects; `sampling` = one that every protocol that samples text has,
   * under the same name.
   */
  readonly of?: 'chat' | 'sampling'
}

/** Every parameter that an endpoint's `supported_parameters` may list, for any type of model. */
const ROWS = {
  max_tokens: { cost: 'units', of: 'chat' },
  max_completion_tokens: { cost: 'units', of: 'chat' },
  temperature: { cost: 'units', of: 'sampling' },
  top_p: { cost: 'units', of: 'sampling' },
  top_k: { cost: 'units', of: 'sampling' },
  min_p: { cost: 'units', of: 'sampling' },
  top_a: { cost: 'units', of: 'sampling' },
  frequency_penalty: { cost: 'units', of: 'sampling' },
  presence_penalty: { cost: 'units', of: 'sampling' },
  repetition_penalty: { cost: 'units', of: 'sampling' },
  seed: { cost: 'units', of: 'sampling' },
  stop: { cost: 'units', of: 'sampling' },
  logit_bias: { cost: 'units', of: 'chat' },
  logprobs: { cost: 'units', of: 'chat' },
  top_logprobs: { cost: 'units', of: 'chat' },
  n: { cost: 'units', of: 'chat' },
  tools: { cost: 'units', of: 'chat' },
  tool_choice: { cost: 'units', of: 'chat' },
  parallel_tool_calls: { cost: 'units', of: 'chat' },
  response_format: { cost: 'units', of: 'chat' },
  structured_outputs: { cost: 'units', of: 'chat' },
  reasoning: { cost: 'units', of: 'chat' },
  reasoning_effort: { cost: 'units', of: 'chat' },
  include_reasoning: { cost: 'units', of: 'chat' },
  verbosity: { cost: 'units', of: 'chat' },
  prediction: {
    cost: {
      bills: 'the predicted tokens that the answer does not have, as output',
      price: 'completion',
      where: 'listed',
    },
    of: 'chat',
  },
  service_tier: {
    // Sent if the conditional prices include it (`parameter-costs.ts`).
    cost: { bills: 'all tokens, at up to several times the price', price: null, where: 'listed' },
    of: 'chat',
  },
  metadata: { cost: 'units', of: 'chat' },
  web_search_options: { cost: { bills: 'each search', price: 'search', where: 'listed' }, of: 'chat' },
  search_context_size: { cost: { bills: 'each search, the more the more it reads', price: 'search', where: 'listed' } },
  prompt_cache_key: { cost: 'units', of: 'chat' },
  safety_identifier: { cost: 'units', of: 'chat' },
  user: { cost: 'units', of: 'chat' },
  developer: { cost: 'units' },
  modalities: {
    cost: { bills: 'sound and pictures at prices of their own', price: null, where: 'carried' },
    of: 'chat',
  },
  audio: { cost: { bills: 'sound at a price of its own', price: 'audio_output', where: 'carried' }, of: 'chat' },
  cache_control: { cost: { bills: 'what is written to the cache', price: 'input_cache_write', where: 'carried' } },
  image_config: { cost: 'units' },
  dimensions: { cost: 'units' },
  encoding_format: { cost: 'units' },
  input_type: { cost: 'units' },
  top_n: { cost: 'units' },
  // One price covers all values, or the price by size and quality lists them (`picture-price.ts`).
  size: { cost: 'units' },
  aspect_ratio: { cost: 'units' },
  image_size: { cost: 'units' },
  image: { cost: 'units' },
  quality: { cost: 'units' },
  background: { cost: 'units' },
  output_format: { cost: 'units' },
  output_compression: { cost: 'units' },
  input_fidelity: { cost: 'units' },
  style: { cost: 'units' },
  voice: { cost: 'units' },
  speed: { cost: 'units' },
  instructions: { cost: 'units' },
  stream_format: { cost: 'units' },
  language: { cost: 'units' },
  prompt: { cost: 'units' },
  timestamp_granularities: { cost: 'units' },
  diarize: { cost: { bills: 'the seconds of a sound at another price', price: 'second', where: 'listed' } },
  duration: { cost: 'units' },
  resolution: { cost: 'units' },
  frame_images: { cost: 'units' },
  input_references: { cost: 'units' },
  generate_audio: {
    cost: { bills: 'the seconds of a video at another price', price: 'video_second', where: 'listed' },
  },
} as const satisfies Readonly<Record<string, ParameterRow>>

export type ParameterName = keyof typeof ROWS
export const PARAMETER_TABLE: Readonly<Record<ParameterName, ParameterRow>> = ROWS
// The keys of the table are exactly the names.
export const PARAMETER_NAMES = Object.keys(ROWS) as readonly ParameterName[]
export const SAMPLING_PARAMETERS = PARAMETER_NAMES.filter((name) => PARAMETER_TABLE[name].of === 'sampling')
export const CHAT_PARAMETERS = PARAMETER_NAMES.filter((name) => PARAMETER_TABLE[name].of !== undefined)

import type { JsonPath } from './json-strings.ts'

/**
 * The meaning of a string. A string without a row is `text`, so everything that a person or a model may have written is
 * replaced unless it is listed here.
 *
 * - text: letters and digits are replaced by others of their class
 * - address: the same, but in a URL the scheme and escapes stay; of the hosts that Tollgate calls only identifiers are
 *   replaced
 * - prose: the same, and the phrases below and numbers stay
 * - fact: stays
 * - id: becomes another of the same shape, the same one wherever it stands in its case
 * - arguments: JSON text of a tool call, perhaps in pieces: leaf values are text, names stay
 * - data: leaf values of what a person or a model made up: text, with no regard to what the leaf is called
 * - opaque: base64 that only its provider reads: other bytes of the same length
 * - media: base64 of a picture or a sound: made bytes of the same format and length
 * - codes: numbers that spell text
 */
export type Meaning = 'text' | 'address' | 'prose' | 'fact' | 'id' | 'arguments' | 'data' | 'opaque' | 'media' | 'codes'

interface Rule {
  readonly meaning: Meaning
  /**
   * Names along the path, without indices. Only the end of the path is compared; `**` at the end matches everything
   * below. The first name may be the protocol.
   */
  readonly paths: readonly string[]
}

/** The first row that matches counts. */
const RULES: readonly Rule[] = [
  { meaning: 'codes', paths: ['logprobs.bytes', 'ollama-generate.context'] },
  // Statistics of a content filter, by the names of harms.
  {
    meaning: 'fact',
    paths: [
      'moderation.**',
      'prompt_filter_results.**',
      'content_filter_results.**',
      'prompt_feedback.safetyRatings.**',
    ],
  },
  {
    meaning: 'arguments',
    paths: [
      'function.arguments',
      'function_call.arguments',
      'item.arguments',
      'output.arguments',
      'openai-responses.arguments',
      'tool_calls.arguments',
      'delta.partial_json',
      'toolUse.input',
    ],
  },
  {
    meaning: 'data',
    paths: [
      'args.**',
      'input.**',
      'arguments.**',
      'parameters.properties.enum',
      'parameters.properties.default',
      'tool_calls.parameters.**',
      'action.query',
      'action.queries',
    ],
  },
  { meaning: 'address', paths: ['url', 'uri', 'url_prefix', 'urls.**', 'citations', 'replicate-predictions.output'] },
  { meaning: 'media', paths: ['b64_json', 'bytesBase64Encoded', 'inlineData.data', 'audio.data'] },
  {
    meaning: 'opaque',
    paths: [
      'encrypted_content',
      'signature',
      'thoughtSignature',
      'thought_signature',
      'reasoning_details.data',
      'redactedContent',
    ],
  },
  {
    meaning: 'fact',
    paths: ['deepgram-listen.metadata.model_info.**', 'openai-models.data.id', 'embedding', 'segments.id'],
  },
  {
    meaning: 'id',
    paths: [
      'id',
      'item_id',
      'call_id',
      'response_id',
      'responseId',
      'generation_id',
      'request_id',
      'log_id',
      'tool_use_id',
      'toolUseId',
      'container_id',
      'transcription_id',
      'user_id',
      'fallback_credit_token',
      'system_fingerprint',
      'sha256',
      'metadata.resource',
      'deepgram-listen.metadata.models',
    ],
  },
  // A rejected tool call as the model wrote it, and the text before it.
  { meaning: 'text', paths: ['error.failed_generation', 'stream_error.failed_generation', 'chat_history.message'] },
  {
    meaning: 'prose',
    paths: [
      'error',
      'error.message',
      'error.details.message',
      'error.details.detail',
      'error.metadata.raw',
      'error.details.description',
      'links.description',
      'message',
      'detail',
      'title',
      'explanation',
      'raiFilteredReason',
      'finishMessage',
      'blockReasonMessage',
      'warnings',
    ],
  },
  { meaning: 'fact', paths: ['error.**', 'stream_error.**', 'response_error.**'] },
  {
    meaning: 'fact',
    paths: [
      'type',
      'object',
      'role',
      'status',
      'index',
      'event_type',
      'channel',
      'phase',
      'execution',
      'task',
      'mode',
      'namespace',
      'syntax',
      'format',
      'jsonPath',
      'required',
      'provider',
      'provider_name',
      'owned_by',
    ],
  },
  {
    meaning: 'fact',
    paths: [
      'model',
      'modelVersion',
      'recommended_model',
      'version',
      'weight_version',
      'transaction_key',
      'api_version.version',
    ],
  },
  {
    meaning: 'fact',
    paths: [
      'finish_reason',
      'finishReason',
      'native_finish_reason',
      'finish_reason_native',
      'done_reason',
      'stop_reason',
      'stopReason',
      'blockReason',
      'stop_details.category',
      'reason',
    ],
  },
  {
    meaning: 'fact',
    paths: [
      'created',
      'created_at',
      'createTime',
      'completed_at',
      'started_at',
      'expires_at',
      'duration',
      'seconds',
      'ttl',
      'retryDelay',
    ],
  },
  {
    meaning: 'fact',
    paths: [
      'safetyRatings.category',
      'probability',
      'severity',
      'modality',
      'embeddingType',
      'response_type',
      'mimeType',
      'mime',
      'size',
      'quality',
      'resolution',
    ],
  },
  {
    meaning: 'fact',
    paths: [
      'service_tier',
      'serviceTier',
      'trafficType',
      'inference_geo',
      'truncation',
      'tool_choice',
      'verbosity',
      'effort',
      'reasoning.context',
      'openai-responses.reasoning.summary',
      'prompt_cache_retention',
      'search_context_size',
      'payer',
    ],
  },
  { meaning: 'fact', paths: ['language', 'language_code', 'detected_language', 'locale', 'speaker', 'speaker_id'] },
  // Names of functions and models; texts of people and models are not in members with these names.
  {
    meaning: 'fact',
    paths: [
      'function.name',
      'function_call.name',
      'functionCall.name',
      'toolUse.name',
      'tools.name',
      'item.name',
      'output.name',
      'content.name',
      'content_block.name',
      'tool_calls.name',
      'sources.name',
      'other_items',
    ],
  },
]

/** Phrases by which the adapters recognise refusals. They stay, whatever the text around them is. */
const PHRASES: readonly RegExp[] = [
  /maximum context length|context[ _-]?(?:length|window|limit)|too[ _]many[ _](?:input[ _]|prompt[ _])?tokens|prompt is too long|reduce the length|max[ _]tokens must be/gi,
  /input tokens? (?:count|exceeded)|exceeds the (?:maximum|limit)|only supports|supports up to|input is too long|input length and .?max_tokens/gi,
  /content[_ ]?(?:filter\w*|policy)|moderation|safety system|responsible ?ai|nsfw|flagged|sensitive|prohibited|inappropriate|\bsafety\b|violat\w*/gi,
  /api[ _-]?key (?:is )?(?:not valid|invalid|expired)|(?:incorrect|invalid) api[ _-]?key|invalid_api_key|authentication/gi,
  /model identifier is invalid|on-demand throughput isn.t supported|operation not allowed|reached the end of its life/gi,
  // Tollgate uses these to find texts that may name an account.
  /\bprojects?(?:\/|_number|_id|\b)|\bserviceAccounts?\b|\blocations?\/|\barn:aws[\w-]*:|\bBearer\b|https?:\/\/|\b(?:sk|pk|rk|org|proj|key|user|req)[-_](?=\w{6})/gi,
  /credit balance|usage limits?|organization has been disabled|billing/gi,
]

export function meaningOf(protocol: string, path: JsonPath): Meaning {
  const names = [protocol, ...path.filter((step) => typeof step === 'string')]
  return RULES.find(({ paths }) => paths.some((pattern) => fits(pattern.split('.'), names)))?.meaning ?? 'text'
}

function fits(pattern: readonly string[], names: readonly string[]): boolean {
  if (pattern.at(-1) !== '**') return endsWith(names, pattern)
  const above = pattern.slice(0, -1)
  return names.some((_name, index) => index < names.length - 1 && endsWith(names.slice(0, index + 1), above))
}

function endsWith(names: readonly string[], end: readonly string[]): boolean {
  const from = names.length - end.length
  return from >= 0 && end.every((name, index) => names[from + index] === name)
}

/** The parts of an error's text that stay: phrases that the adapters search for, and numbers. */
export function keptPhrases(text: string): readonly { readonly start: number; readonly end: number }[] {
  return PHRASES.flatMap((phrase) =>
    [...text.matchAll(phrase)].map(({ index, 0: found }) => ({ start: index, end: index + found.length })),
  )
}

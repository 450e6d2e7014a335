import type { Attributes } from '@opentelemetry/api'
import { ownValue } from '../base/own-value.ts'
import { Histogram, type Metric } from '../base/prometheus.ts'
import type { AnswerFacts, AttemptSpan, LogFields, RequestStory } from '../http/request-log.ts'
import { REQUEST_TYPE_TABLE } from '../tables/model-types.ts'

/** The buckets that the conventions recommend. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92] as const
const FIRST_SECONDS = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10] as const
const TOKEN_SECONDS = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5] as const
const TOKENS = [
  1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
] as const
const OPERATION = 'gen_ai.operation.name'
const PROVIDER = 'gen_ai.provider.name'
const MODEL = 'gen_ai.request.model'
const ERROR = 'error.type'

/**
 * Metrics by the GenAI conventions of OpenTelemetry. `gen_ai.client.*` are about our calls to providers, with their
 * names of models; `gen_ai.server.*` are about our answers to clients, with our names.
 */
export class GenAiMetrics {
  readonly #durations = new Histogram(
    'gen_ai.client.operation.duration',
    'Calls to providers, failed ones included.',
    [OPERATION, PROVIDER, MODEL, ERROR],
    SECONDS,
    's',
  )
  readonly #tokens = new Histogram(
    'gen_ai.client.token.usage',
    'Tokens of an answer of a provider, by input and output.',
    [OPERATION, PROVIDER, MODEL, 'gen_ai.token.type'],
    TOKENS,
    '{token}',
  )
  readonly #firstChunks = new Histogram(
    'gen_ai.client.operation.time_to_first_chunk',
    'From a call to a provider to the first part of its streamed answer.',
    [OPERATION, PROVIDER, MODEL],
    SECONDS,
    's',
  )
  readonly #requests = new Histogram(
    'gen_ai.server.request.duration',
    'From the head of a paid request to the end of its answer.',
    [OPERATION, PROVIDER, MODEL, ERROR],
    SECONDS,
    's',
  )
  readonly #firstTokens = new Histogram(
    'gen_ai.server.time_to_first_token',
    'From the head of a paid request to the first token of its streamed answer.',
    [OPERATION, PROVIDER, MODEL],
    FIRST_SECONDS,
    's',
  )
  readonly #tokenTimes = new Histogram(
    'gen_ai.server.time_per_output_token',
    'Of a streamed answer, for each token after the first.',
    [OPERATION, PROVIDER, MODEL],
    TOKEN_SECONDS,
    's',
  )

  get metrics(): readonly Metric[] {
    return [this.#durations, this.#tokens, this.#firstChunks, this.#requests, this.#firstTokens, this.#tokenTimes]
  }

  line(fields: LogFields, _failed: boolean, { attempts, answer, startedMs }: RequestStory): void {
    const route = fields['route']
    const operation = answer === null || typeof route !== 'string' ? null : operationOf(route)
    if (answer === null || operation === null) return
    const firstMs = answer.streamed ? numberOf(fields['first_token_ms']) : null
    for (const attempt of attempts) this.#attempt(attempt, operation)
    const last = attempts.at(-1)
    if (last !== undefined && last.failure === null) this.#answered(last, operation, fields, firstMs, startedMs)
    this.#served(operation, fields, firstMs)
  }

  #attempt({ provider, model, startedMs, endedMs, failure }: AttemptSpan, operation: string): void {
    this.#durations.observe((endedMs - startedMs) / 1_000, operation, providerOf(provider), model, failure ?? '')
  }

  #answered(
    { provider, model, startedMs }: AttemptSpan,
    operation: string,
    fields: LogFields,
    firstMs: number | null,
    arrivedMs: number,
  ): void {
    const names = [operation, providerOf(provider), model]
    for (const type of ['input', 'output'] as const) {
      const tokens = numberOf(fields[`${type}_tokens`])
      if (tokens !== null) this.#tokens.observe(tokens, ...names, type)
    }
    if (firstMs !== null) this.#firstChunks.observe(Math.max(0, firstMs - (startedMs - arrivedMs)) / 1_000, ...names)
  }

  #served(operation: string, fields: LogFields, firstMs: number | null): void {
    const names = [operation, providerOf(textOf(fields['provider'])), textOf(fields['model'])]
    const durationMs = numberOf(fields['duration_ms']) ?? 0
    this.#requests.observe(durationMs / 1_000, ...names, textOf(fields['error_type']))
    if (firstMs === null) return
    this.#firstTokens.observe(firstMs / 1_000, ...names)
    const tokens = numberOf(fields['output_tokens']) ?? 0
    if (tokens > 1) this.#tokenTimes.observe(Math.max(0, durationMs - firstMs) / (tokens - 1) / 1_000, ...names)
  }
}

function numberOf(value: LogFields[string] | undefined): number | null {
  return typeof value === 'number' ? value : null
}

function textOf(value: LogFields[string] | undefined): string {
  return typeof value === 'string' ? value : ''
}

/** `gen_ai.operation.name` by route. */
const OPERATIONS: ReadonlyMap<string, string> = new Map(
  Object.values(REQUEST_TYPE_TABLE).flatMap(({ paths, span }) =>
    span === null ? [] : paths.map((path) => [path, span] as const),
  ),
)
/** `gen_ai.provider.name` by slug, if the conventions have another name than our slug. */
const PROVIDERS: Readonly<Record<string, string>> = {
  gemini: 'gcp.gemini',
  google: 'gcp.gemini',
  'google-ai-studio': 'gcp.gemini',
  vertex: 'gcp.vertex_ai',
  'google-vertex': 'gcp.vertex_ai',
  bedrock: 'aws.bedrock',
  'amazon-bedrock': 'aws.bedrock',
  azure: 'azure.ai.openai',
  mistral: 'mistral_ai',
  xai: 'x_ai',
}

/** The `gen_ai.provider.name` of one of our providers. */
export function providerOf(slug: string): string {
  return ownValue(PROVIDERS, slug) ?? slug
}

export function operationOf(route: string): string | null {
  return OPERATIONS.get(route) ?? null
}

/** Attributes of the client's call: the HTTP conventions and Tollgate's own facts. */
export function requestAttributes(fields: LogFields): Attributes {
  return present({
    'http.request.method': fields['method'],
    'http.route': fields['route'],
    'http.response.status_code': fields['status'],
    'error.type': fields['error_type'],
    'tollgate.request_id': fields['request_id'],
    'tollgate.generation_id': fields['generation_id'],
    'tollgate.account_id': fields['account_id'],
    'tollgate.key_id': fields['key_id'],
    'tollgate.model': fields['model'],
    'tollgate.cost': fields['cost'],
    'tollgate.billing_basis': fields['billing_basis'],
    'tollgate.first_token_ms': fields['first_token_ms'],
    'tollgate.aborted': fields['aborted'],
  })
}

/**
 * Attributes of a call to a provider (OpenTelemetry GenAI conventions); only the successful call has tokens and other
 * facts of the answer.
 */
export function attemptAttributes(
  { provider, model, address, failure }: AttemptSpan,
  operation: string,
  fields: LogFields,
  answer: AnswerFacts | null,
): Attributes {
  const asked = {
    'gen_ai.operation.name': operation,
    'gen_ai.provider.name': providerOf(provider),
    'gen_ai.request.model': model,
    'server.address': URL.parse(address)?.hostname,
  }
  if (failure !== null) return present({ ...asked, 'error.type': failure })
  const finish = fields['finish_reason']
  return {
    ...present({
      ...asked,
      'gen_ai.usage.input_tokens': fields['input_tokens'],
      'gen_ai.usage.output_tokens': fields['output_tokens'],
      // These are included in the two above.
      'gen_ai.usage.cache_read.input_tokens': answer?.cacheReadTokens,
      'gen_ai.usage.cache_creation.input_tokens': answer?.cacheWriteTokens,
      'gen_ai.usage.reasoning.output_tokens': answer?.reasoningTokens,
    }),
    ...(typeof finish === 'string' ? { 'gen_ai.response.finish_reasons': [finish] } : {}),
  }
}

function present(values: Readonly<Record<string, LogFields[string] | undefined>>): Attributes {
  const attributes: Attributes = {}
  for (const [name, value] of Object.entries(values))
    if (value !== null && value !== undefined) attributes[name] = value
  return attributes
}

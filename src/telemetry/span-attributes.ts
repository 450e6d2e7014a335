import type { Attributes } from '@opentelemetry/api'
import { REQUEST_TYPE_TABLE } from '../tables/model-types.ts'
import type { AnswerFacts, AttemptSpan, LogFields } from '../http/request-log.ts'
import { ownValue } from '../base/own-value.ts'

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

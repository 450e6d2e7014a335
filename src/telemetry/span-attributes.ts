import type { Attributes } from '@opentelemetry/api'
import type { AttemptSpan, LogFields } from '../http/request-log.ts'

/** `gen_ai.operation.name` by route; the conventions name the first five, the others are ours. */
const OPERATIONS: Readonly<Record<string, string>> = {
  '/v1/chat/completions': 'chat',
  '/v1/responses': 'chat',
  '/v1/completions': 'text_completion',
  '/v1/embeddings': 'embeddings',
  '/v1/images/generations': 'generate_content',
  '/v1/images/edits': 'generate_content',
  '/v1/audio/speech': 'speech',
  '/v1/audio/transcriptions': 'transcription',
  '/v1/audio/translations': 'translation',
  '/v1/rerank': 'rerank',
}
/** `gen_ai.provider.name` where the conventions have another name than our slug. */
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

export function operationOf(route: string): string | null {
  return OPERATIONS[route] ?? null
}

/** Of the client's call: HTTP conventions, and what only Tollgate knows. */
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

/** Of a call to a provider (OpenTelemetry GenAI conventions); tokens and the rest are told of the one that answered. */
export function attemptAttributes(
  { provider, model, address, failure }: AttemptSpan,
  operation: string,
  fields: LogFields,
): Attributes {
  const asked = {
    'gen_ai.operation.name': operation,
    'gen_ai.provider.name': PROVIDERS[provider] ?? provider,
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

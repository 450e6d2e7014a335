import type { Endpoint } from '../../catalog/catalog.ts'
import type { JsonRequest } from '../../protocols/ports/upstream-request.ts'
import { credentialHeaders } from './credentials.ts'
import { encodedModel } from './request.ts'

/** A call of InvokeModel, whose request and answer are the model's own. */
export function invokeModel(
  { endpoint, apiKey }: { readonly endpoint: Endpoint; readonly apiKey: string | null },
  body: JsonRequest['body'],
  nowMs: number,
): JsonRequest {
  const path = `/model/${encodedModel(endpoint.upstreamModel)}/invoke`
  return { path, body, headers: credentialHeaders(apiKey, endpoint.provider.baseUrl, path, nowMs) }
}

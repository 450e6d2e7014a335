import { requestsOf, type Circumstances } from './protocol-read.ts'
import { geminiProtocol } from '../../src/protocols/gemini/provider/gemini.ts'

export const { requestOf, bodyOf, refuses } = requestsOf(geminiProtocol, {
  model: 'gemini-2.5-flash',
  apiKey: 'upstream-key',
})

export const SCHEMA = {
  type: 'object',
  properties: { a: { $ref: '#/$defs/a' } },
  $defs: { a: { type: 'integer', minimum: 1 } },
  additionalProperties: false,
}

export const FORMAT = { type: 'json_schema', json_schema: { name: 'n', strict: true, schema: SCHEMA } }

export function configOf(body: Record<string, unknown>, circumstances: Circumstances = {}): unknown {
  return bodyOf(body, circumstances)['generationConfig']
}

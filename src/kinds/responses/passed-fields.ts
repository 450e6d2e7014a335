import { SAMPLING_PARAMETERS } from '../../tables/parameter-table.ts'
import { copyJson, type RawObject } from '../fields/json-fields.ts'

/**
 * Fields that we read ourselves, or that are ours to decide: what costs money, what is stored, and what names an
 * account (clients.md D-14.2).
 */
const OURS: ReadonlySet<string> = new Set([
  'model',
  'models',
  'input',
  'messages',
  'instructions',
  'tools',
  'tool_choice',
  'text',
  'reasoning',
  'include',
  'stream',
  'max_output_tokens',
  'max_tool_calls',
  'max_tokens',
  'max_completion_tokens',
  ...SAMPLING_PARAMETERS,
  'user',
  'parallel_tool_calls',
  'provider',
  'session_id',
  'metadata',
  'store',
  'background',
  'previous_response_id',
  'conversation',
  'prompt',
  // Of a message over a WebSocket.
  'type',
  'generate',
  'service_tier',
  'context_management',
  'n',
])
/** Words of chat and of routers, which Responses does not have: a strict provider refuses them. */
const OF_CHAT: ReadonlySet<string> = new Set([
  'response_format',
  'reasoning_effort',
  'include_reasoning',
  'verbosity',
  'logprobs',
  'logit_bias',
  'prediction',
  'modalities',
  'audio',
  'usage',
  'transforms',
  'route',
])
/**
 * Fields that may name an address or an account that a provider would use, or a tool or a speed that it bills: the
 * catalogue has no price for these.
 */
const FOREIGN =
  /webhook|callback|api_key|authorization|organization|project|search|plugin|mcp|tool|tier|speed|priority/i
const FIELDS_MAX = 64

/** Other fields, known to us or not, for a provider that speaks the client's protocol (clients.md D-14.2). */
export function passedFields(body: RawObject): RawObject {
  const names = Object.keys(body).filter(
    (name) => !OURS.has(name) && !OF_CHAT.has(name) && !FOREIGN.test(name) && name !== '__proto__',
  )
  return Object.fromEntries(
    names.slice(0, FIELDS_MAX).flatMap((name) => (body[name] === null ? [] : [[name, copyJson(body[name], name)]])),
  )
}

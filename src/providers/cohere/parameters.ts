/** Parameters that Cohere's chat protocol carries, by OpenRouter's names; an endpoint may list fewer. */
export const COHERE_PARAMETERS: readonly string[] = Object.freeze([
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'top_p',
  'top_k',
  'frequency_penalty',
  'presence_penalty',
  'seed',
  'stop',
  'tools',
  'tool_choice',
  'response_format',
  'structured_outputs',
  'reasoning',
  'reasoning_effort',
  'include_reasoning',
])

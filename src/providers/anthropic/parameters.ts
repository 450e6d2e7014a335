/** What the Messages protocol can carry, by OpenRouter's names; an endpoint may list fewer. */
export const ANTHROPIC_PARAMETERS: readonly string[] = Object.freeze([
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'top_p',
  'top_k',
  'stop',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
  'structured_outputs',
  'reasoning',
  'reasoning_effort',
  'include_reasoning',
  'user',
])

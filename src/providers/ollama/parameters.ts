/** Parameters that Ollama's chat protocol carries, by OpenRouter's names; an endpoint may list fewer. */
export const OLLAMA_PARAMETERS: readonly string[] = Object.freeze([
  'max_tokens', 'max_completion_tokens', 'temperature', 'top_p', 'top_k', 'min_p', 'frequency_penalty', 'presence_penalty', 'repetition_penalty',
  'seed', 'stop', 'tools', 'response_format', 'structured_outputs', 'reasoning', 'reasoning_effort', 'include_reasoning',
])

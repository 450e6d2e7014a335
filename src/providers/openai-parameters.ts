/** Parameters the OpenAI chat protocol and its dialects carry, by OpenRouter's names; an endpoint may list fewer. */
export const OPENAI_PARAMETERS: readonly string[] = Object.freeze([
  'max_tokens', 'max_completion_tokens', 'temperature', 'top_p', 'top_k', 'min_p', 'top_a', 'frequency_penalty', 'presence_penalty', 'repetition_penalty',
  'seed', 'stop', 'logit_bias', 'logprobs', 'top_logprobs', 'n', 'tools', 'tool_choice', 'parallel_tool_calls', 'response_format', 'structured_outputs',
  'reasoning', 'reasoning_effort', 'include_reasoning', 'verbosity', 'prediction', 'service_tier', 'metadata', 'web_search_options', 'prompt_cache_key',
  'safety_identifier', 'user', 'modalities', 'audio', 'developer',
])

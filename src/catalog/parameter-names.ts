/** Every name that an endpoint's `supported_parameters` may list, whatever the type of its model. */
export const PARAMETER_NAMES = [
  'max_tokens', 'max_completion_tokens', 'temperature', 'top_p', 'top_k', 'min_p', 'top_a', 'frequency_penalty', 'presence_penalty', 'repetition_penalty', 'seed', 'stop', 'logit_bias', 'logprobs', 'top_logprobs',
  'n', 'tools', 'tool_choice', 'parallel_tool_calls', 'response_format', 'structured_outputs', 'reasoning', 'reasoning_effort', 'include_reasoning', 'verbosity', 'prediction', 'service_tier', 'metadata',
  'web_search_options', 'prompt_cache_key', 'safety_identifier', 'user', 'developer', 'modalities', 'audio', 'cache_control', 'image_config',
  'dimensions', 'encoding_format', 'input_type', 'top_n',
  'size', 'aspect_ratio', 'image_size', 'image', 'quality', 'background', 'output_format', 'output_compression', 'style',
  'voice', 'speed', 'instructions', 'stream_format', 'language', 'prompt', 'timestamp_granularities',
  'duration', 'resolution', 'frame_images', 'input_references', 'generate_audio',
] as const
export type ParameterName = (typeof PARAMETER_NAMES)[number]

/** Names of what a model may take in or bring out, OpenRouter's. */
export const INPUT_MODALITIES: readonly string[] = ['text', 'image', 'audio', 'file', 'video']
export const OUTPUT_MODALITIES: readonly string[] = ['text', 'image', 'audio', 'embeddings', 'speech', 'transcription', 'rerank', 'video']

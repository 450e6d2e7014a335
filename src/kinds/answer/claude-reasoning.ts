/**
 * OpenRouter's name of Claude's reasoning details, by which clients and we know whose they are. It is the same at
 * Bedrock, where the models and their signatures are the same.
 */
export const CLAUDE_REASONING = 'anthropic-claude-v1'

/**
 * OpenRouter's name for Claude's reasoning details, by which clients and we recognise them. It is the same at Bedrock,
 * whose Claude models sign alike.
 */
export const CLAUDE_REASONING = 'anthropic-claude-v1'

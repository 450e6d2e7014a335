import { traitsOf, type ModelTraits } from '../anthropic/model-traits.ts'

/**
 * What a model takes; Converse is one protocol over many makers' models and refuses with 400 what one of them does not.
 */
export interface BedrockModel {
  /** null = not of Anthropic's. */
  readonly claude: ModelTraits | null
  /** Takes cache points. */
  readonly caches: boolean
  /** Cache points may name how long they last. */
  readonly namesCacheTime: boolean
  /** How it can be held to a JSON schema: by decoding, by a tool that it has to call, or by words alone. */
  readonly schemaMeans: 'decoding' | 'tool' | 'words'
}

const CLAUDE = /anthropic\.|claude/
const NOVA = /amazon\.nova/
/**
 * Makers whose models are documented to decode by a schema; the tool of an answer would have to be forced, which they
 * refuse.
 */
const DECODING = /(?:qwen|deepseek|mistral|google|nvidia|minimax|minimaxai|moonshot|moonshotai|openai|zai)\./

/** By the model's name, as the protocol has no way to ask. */
export function bedrockModelOf(upstreamModel: string): BedrockModel {
  const name = upstreamModel.toLowerCase()
  if (CLAUDE.test(name)) {
    const claude = traitsOf(name)
    return {
      claude,
      caches: true,
      namesCacheTime: claude.constrains,
      schemaMeans: claude.constrains ? 'decoding' : 'tool',
    }
  }
  if (NOVA.test(name)) return { claude: null, caches: true, namesCacheTime: false, schemaMeans: 'tool' }
  return { claude: null, caches: false, namesCacheTime: false, schemaMeans: DECODING.test(name) ? 'decoding' : 'words' }
}

import { traitsOf, type ModelTraits } from '../anthropic/model-traits.ts'

/**
 * Abilities of a model. Converse is one protocol for many makers' models, and refuses with 400 what the model does not
 * take.
 */
export interface BedrockModel {
  /** null = not one of Anthropic's models. */
  readonly claude: ModelTraits | null
  /** Whether it accepts cache points. */
  readonly caches: boolean
  /** Whether cache points may name their lifetime. */
  readonly namesCacheTime: boolean
  /**
   * How it is held to a JSON schema: by constrained decoding, by a tool that must be called, or by instructions only.
   */
  readonly schemaMeans: 'decoding' | 'tool' | 'words'
}

const CLAUDE = /anthropic\.|claude/
const NOVA = /amazon\.nova/
/**
 * Makers whose models are documented to decode by a schema; a tool for the answer would have to be forced, which they
 * refuse.
 */
const DECODING = /(?:qwen|deepseek|mistral|google|nvidia|minimax|minimaxai|moonshot|moonshotai|openai|zai)\./

/** Decided by the model's name, since the protocol cannot be asked. */
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

import { TraitTable, type TraitRow } from '../../catalog/trait-table.ts'
import type { AnswerMeans } from '../models/claude-format.ts'
import { CLAUDE_TRAITS, type ModelTraits } from '../models/claude-traits.ts'

/**
 * Abilities of a model. Converse is one protocol for models of many makers, and refuses with 400 what a model does not
 * accept.
 */
export interface BedrockModel {
  /** null = the model is not one of Anthropic's. */
  readonly claude: ModelTraits | null
  /** Whether it accepts cache points. */
  readonly caches: boolean
  /** Whether cache points may name their lifetime. */
  readonly namesCacheTime: boolean
  /** How the model can be held to a form of its answer. */
  readonly means: AnswerMeans
}

type OtherMaker = Omit<BedrockModel, 'claude' | 'namesCacheTime'>

const FORMATS = {
  source: 'https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html',
  date: '2026-11-27',
}
/** Documented to decode by a schema. A tool for the answer would have to be forced, which these models refuse. */
const DECODES: OtherMaker = { caches: false, means: { decodes: 'all', forcesTools: false } }
const PLAIN: OtherMaker = { caches: false, means: { decodes: 'none', forcesTools: false } }
const MAKERS = ['qwen', 'deepseek', 'mistral', 'google', 'nvidia', 'minimax', 'minimaxai', 'moonshot', 'moonshotai']

/** Models of other makers, by the maker's word in the name. */
export const BEDROCK_TRAITS = new TraitTable<OtherMaker>([
  {
    of: 'amazon nova',
    traits: { caches: true, means: { decodes: 'none', forcesTools: true } },
    source: 'https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html',
    date: '2026-11-27',
  },
  ...[...MAKERS, 'openai', 'zai'].map((of): TraitRow<OtherMaker> => ({ of, traits: DECODES, ...FORMATS })),
])

const INVOKE = {
  source: 'https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters.html',
  date: '2026-11-27',
}

/**
 * The form of the body that InvokeModel takes for vectors and rankings; Titan's models and those of other makers have
 * no row.
 */
export const INVOKE_TRAITS = new TraitTable<'cohere' | 'nova'>([
  { of: 'cohere', traits: 'cohere', ...INVOKE },
  { of: 'nova', traits: 'nova', ...INVOKE },
])

/** The abilities by the model's name, since the protocol does not report them. */
export function bedrockModelOf(upstreamModel: string): BedrockModel {
  const claude = CLAUDE_TRAITS.of(upstreamModel)
  if (claude === null) return { claude, namesCacheTime: false, ...(BEDROCK_TRAITS.of(upstreamModel) ?? PLAIN) }
  const { constrainsAtBedrock, forcesTools } = claude
  return {
    claude,
    caches: true,
    namesCacheTime: claude.constrains,
    means: { decodes: constrainsAtBedrock ? 'closed' : 'none', forcesTools },
  }
}

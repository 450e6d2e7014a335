/** Abilities of a model; the provider refuses with 400 what the model does not take. */
export interface ModelTraits {
  /** Whether it thinks within a budget of tokens, as much as it sees fit, or not at all. */
  readonly thinking: 'budget' | 'adaptive' | 'none'
  /** Whether an adaptive model's thinking can be switched off. */
  readonly canStopThinking: boolean
  /** How many of temperature and top_p a request may have; 0 = top_k is not accepted either. */
  readonly samplingParameters: 0 | 1 | 2
  /** Whether it can constrain an answer or a tool's input to a JSON schema. */
  readonly constrains: boolean
}

/** `claude-3-5-haiku-20241022`, `claude-opus-4-20250514`, `claude-sonnet-4.5`: a date is not a minor version. */
const CLAUDE = /claude-(?:[a-z]+-)?(\d)(?:[.-](\d{1,2}))?(?!\d)/
const NEWEST = 99
const ALWAYS_THINKS = /claude-(?:fable|mythos)/

/**
 * Decided by the model's name, since the protocol cannot be asked; an unknown name gets the oldest form, which
 * compatible providers copied.
 */
export function traitsOf(upstreamModel: string): ModelTraits {
  const name = upstreamModel.toLowerCase()
  const version = versionOf(name)
  const isAdaptive = version >= versionNumber(4, 7)
  return {
    thinking: isAdaptive ? 'adaptive' : version > 0 && version < versionNumber(3, 7) ? 'none' : 'budget',
    canStopThinking: !ALWAYS_THINKS.test(name),
    samplingParameters: isAdaptive ? 0 : version >= versionNumber(4, 1) ? 1 : 2,
    constrains: version >= versionNumber(4, 5),
  }
}

function versionOf(name: string): number {
  const found = CLAUDE.exec(name)
  if (found !== null) return versionNumber(Number(found[1]), Number(found[2] ?? 0))
  return ALWAYS_THINKS.test(name) ? NEWEST : 0
}

function versionNumber(major: number, minor: number): number {
  return major + minor / 100
}

import { CONTINUE, PREFILL } from '../../models/told-words.ts'
import { listOf, objectOf, textOf, type RawJson } from '../../wire/raw-json.ts'
import { JSON_ONLY, toolWishOf } from '../../models/claude-format.ts'
import { CLAUDE_TRAITS, type ModelTraits } from '../../models/claude-traits.ts'
import { bindingOf } from './thinking-binding.ts'
import { budgetOf, EFFORT_LEAST } from '../../models/claude-thinking.ts'

/** A client's own body of Messages as a model takes it. */
export interface FittedBody {
  readonly body: RawJson
  /** What is not as the client said, by its names. */
  readonly changed: readonly string[]
  /** For `anthropic-beta`, beside the client's own. */
  readonly betas: readonly string[]
}

/** Leaves out, or tells in words, what a Claude model would refuse (the rows of `claude-traits.ts`); nothing else. */
export function fittedBody(given: RawJson, upstreamModel: string): FittedBody {
  const traits = CLAUDE_TRAITS.of(upstreamModel)
  if (traits === null) return { body: given, changed: [], betas: [] }
  const body: Record<string, unknown> = { ...given }
  const words: string[] = []
  const changed = [
    ...fitThinking(body, traits),
    ...fitSampling(body, traits),
    ...fitTools(body, traits, words),
    ...fitFormat(body, traits, words),
    ...fitPrefill(body, traits),
  ]
  if (changed.length === 0) return { body: given, changed, betas: [] }
  if (words.length > 0) {
    const { system } = body
    const said = typeof system === 'string' ? [{ type: 'text', text: system }] : listOf(system)
    body['system'] = [...said, ...words.map((text) => ({ type: 'text', text }))]
  }
  // What came before a thought of an earlier turn may be another text now.
  const { thinking, messages, betas } = bindingOf(objectOf(body['thinking']), listOf(body['messages']), traits)
  if (thinking !== null) body['thinking'] = thinking
  body['messages'] = messages
  return { body, changed, betas }
}

function fitThinking(body: Record<string, unknown>, traits: ModelTraits): readonly string[] {
  const given = objectOf(body['thinking'])
  const type = given?.['type']
  if (given === null || (type !== 'disabled' && type !== 'enabled' && type !== 'adaptive')) return []
  const output = objectOf(body['output_config'])
  if (traits.thinking === 'none' && type !== 'disabled') {
    delete body['thinking']
    return ['thinking']
  }
  if (traits.thinking === 'budget' && type === 'adaptive' && !traits.adapts) {
    const effort = textOf(output?.['effort'])
    const budget = budgetOf({ effort, budget: null }, Number(body['max_tokens']))
    if (budget === null) delete body['thinking']
    else body['thinking'] = { type: 'enabled', budget_tokens: budget }
    return ['thinking']
  }
  if (traits.thinking !== 'adaptive' || type === 'adaptive') return []
  if (type === 'enabled') {
    const { budget_tokens: _budget, display = 'summarized', ...others } = given
    body['thinking'] = { ...others, type: 'adaptive', display }
    return ['thinking.budget_tokens']
  }
  if (traits.leastThinking === 'disabled') return []
  if (traits.leastThinking !== null) body['thinking'] = { type: traits.leastThinking }
  else {
    delete body['thinking']
    body['output_config'] = { effort: EFFORT_LEAST, ...output }
  }
  return ['thinking']
}

function fitSampling(body: Record<string, unknown>, { samplingParameters }: ModelTraits): readonly string[] {
  const left =
    samplingParameters === 0
      ? ['temperature', 'top_p', 'top_k']
      : samplingParameters === 1 && body['temperature'] !== undefined
        ? ['top_p']
        : []
  // The default may be named.
  const changed = left.filter((name) => body[name] !== undefined && !(name === 'temperature' && body[name] === 1))
  for (const name of changed) delete body[name]
  return changed
}

function fitTools(body: Record<string, unknown>, traits: ModelTraits, words: string[]): readonly string[] {
  const changed: string[] = []
  const tools = listOf(body['tools']).map((tool) => objectOf(tool) ?? {})
  if (!traits.constrains && tools.some(({ strict }) => strict === true)) {
    body['tools'] = tools.map(({ strict: _strict, ...tool }) => tool)
    changed.push('tools.strict')
  }
  const choice = objectOf(body['tool_choice'])
  const name = textOf(choice?.['name'])
  const isForced = choice?.['type'] === 'any' || (choice?.['type'] === 'tool' && name !== null)
  const wish = toolWishOf(name === null ? 'required' : { type: 'function', function: { name } }, traits)
  if (!isForced || wish.words === null) return changed
  const { disable_parallel_tool_use: single } = choice
  body['tool_choice'] = { type: 'auto', ...(single === undefined ? {} : { disable_parallel_tool_use: single }) }
  words.push(wish.words)
  return [...changed, 'tool_choice']
}

function fitFormat(body: Record<string, unknown>, { constrains }: ModelTraits, words: string[]): readonly string[] {
  const { format, ...output } = objectOf(body['output_config']) ?? {}
  if (constrains || format === undefined) return []
  if (Object.keys(output).length === 0) delete body['output_config']
  else body['output_config'] = output
  const schema = objectOf(format)?.['schema']
  words.push(schema === undefined ? JSON_ONLY : `${JSON_ONLY} It must fit this JSON schema: ${JSON.stringify(schema)}`)
  return ['output_config.format']
}

function fitPrefill(body: Record<string, unknown>, { takesPrefill }: ModelTraits): readonly string[] {
  const messages = listOf(body['messages'])
  const last = objectOf(messages.at(-1))
  if (takesPrefill || last?.['role'] !== 'assistant') return []
  const content = last['content']
  const text = typeof content === 'string' ? content : textOf(objectOf(listOf(content).at(-1))?.['text'])
  if (text === null || text.trim() === '') return []
  body['messages'] = [...messages, { role: 'user', content: CONTINUE }]
  return [PREFILL]
}

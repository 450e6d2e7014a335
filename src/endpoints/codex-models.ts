import { createHash } from 'node:crypto'
import type { Catalog, Model, Snapshot } from '../catalog/catalog.ts'
import { listedModels } from '../api/public/model-list.ts'

/** The list of all models for Codex. */
export interface CodexModels {
  readonly models: readonly Record<string, unknown>[]
  /** Changes with the list. */
  readonly etag: string
}

const LEVELS = [
  { effort: 'low', description: 'Answers soon, with little reasoning' },
  { effort: 'medium', description: 'Reasons as much as most tasks need' },
  { effort: 'high', description: 'Reasons long about hard tasks' },
]
const OUTPUT_TOKENS_MAX = 10_000
const CONTEXT_PERCENT = 95
/** Codex shows models in ascending order of priority. */
const PRIORITY_FIRST = 1
/** Codex accepts only pictures besides text. */
const MODALITIES: readonly string[] = ['text', 'image']
/** Codex has no instructions of its own for models that a server lists. */
const INSTRUCTIONS = `You are a coding agent that works in the user's terminal, in a folder of the user's.

- Look before you act: search and read the files that a task concerns, and the instructions that the folder holds.
- Work until the task is done, step by step with the tools that you have, and check the result: run the tests or the program where there are any.
- Change what the task needs and nothing else. Keep the style of the code around it. Never undo changes that you did not make, and never delete or publish without being asked.
- When you edit files, use the tool for patches if it is offered, else the shell.
- Say in a few words what you are about to do, and at the end what you changed, how you checked it and what is left. Name files by their path.
- Ask only where the answer cannot be found and a wrong guess would cost the user work.`

/** `models` of `GET /v1/models?client_version=` (clients.md 3), built once for each state of the catalogue. */
export function codexModels(catalog: Catalog, parametersOf: (model: Model) => readonly unknown[]): () => CodexModels {
  let made: { readonly of: Snapshot; readonly models: CodexModels } | null = null
  return () => {
    const snapshot = catalog.current()
    if (made?.of !== snapshot) made = { of: snapshot, models: modelsOf(snapshot, parametersOf) }
    return made.models
  }
}

function modelsOf(snapshot: Snapshot, parametersOf: (model: Model) => readonly unknown[]): CodexModels {
  const models = listedModels(snapshot.models.values(), 'all')
    .filter(({ type }) => type === 'chat')
    .map((model, index) => modelInfo(model, parametersOf(model), PRIORITY_FIRST + index))
  const digest = createHash('sha256').update(JSON.stringify(models)).digest('hex')
  return { models, etag: `"${digest.slice(0, 32)}"` }
}

/** Every field for which some version of Codex has no default. */
function modelInfo(model: Model, parameters: readonly unknown[], priority: number): Record<string, unknown> {
  const reasons = parameters.includes('reasoning') || parameters.includes('reasoning_effort')
  const calls = parameters.includes('tools')
  return {
    slug: model.id,
    display_name: model.name,
    description: model.description,
    ...(reasons ? { default_reasoning_level: 'medium' } : {}),
    supported_reasoning_levels: reasons ? LEVELS : [],
    shell_type: calls ? 'unified_exec' : 'disabled',
    visibility: calls ? 'list' : 'hide',
    supported_in_api: true,
    priority,
    upgrade: null,
    base_instructions: INSTRUCTIONS,
    supports_reasoning_summaries: reasons,
    support_verbosity: parameters.includes('verbosity'),
    default_verbosity: null,
    apply_patch_tool_type: calls ? 'freeform' : null,
    truncation_policy: { mode: 'tokens', limit: OUTPUT_TOKENS_MAX },
    supports_parallel_tool_calls: parameters.includes('parallel_tool_calls'),
    ...(model.contextLength === null ? {} : { context_window: model.contextLength }),
    effective_context_window_percent: CONTEXT_PERCENT,
    experimental_supported_tools: [],
    input_modalities: MODALITIES.filter((modality) => model.inputModalities.includes(modality)),
  }
}

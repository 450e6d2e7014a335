import type { Provider } from '../../catalog/catalog.ts'
import type { ListedModel, ProviderTrial, TrialOutcome } from '../../catalog/offered-models.ts'
import { isAuthorized, isRefused, type TokenCache } from '../auth/token-cache.ts'
import type { AttemptFailure } from '../ports/attempt-failure.ts'
import { LISTING_LIMITS, listOf, objectOf, parseJson, textOf, type RawJson } from '../wire/raw-json.ts'
import type { JobHttp } from '../wire/job-http.ts'
import { withoutSecretsOf } from '../wire/upstream-error.ts'

/** The longest known list has 500 models in 600 kB. */
const BYTES_MAX = 16 * 1_048_576
const MODELS_MAX = 5_000
const NAME_CHARS_MAX = 200

/** How a protocol lists its models. */
export interface ModelListProtocol {
  readonly request: (
    provider: Provider,
    apiKey: string | null,
  ) => { readonly path: string; readonly headers: Readonly<Record<string, string>> }
  /** The entries of the list; null = the body is no list. */
  readonly entries: (body: unknown) => readonly unknown[] | null
  readonly model: (entry: RawJson) => ListedModel | null
}

/** Asks a provider for its models with its first key. Nothing is charged, and the answer is not stored. */
export function askModels(
  protocol: ModelListProtocol,
  jobs: JobHttp,
): (provider: Provider, signal: AbortSignal) => Promise<ProviderTrial> {
  return async (provider, signal) => {
    const { path, headers } = protocol.request(provider, provider.apiKeys[0] ?? null)
    const answer = await jobs.get({ provider, path, headers, signal }, { bytesMax: BYTES_MAX })
    if (answer.status === 'failed') {
      const { why, refusal, said } = withoutSecretsOf(provider, answer.failure)
      return ended(outcomeOf(answer.failure), null, why === 'private' || refusal === 'credentials' ? said : null)
    }
    const body = parseJson(answer.body, LISTING_LIMITS)
    if (answer.code !== 200) {
      const failure = withoutSecretsOf(provider, answer.refusal())
      return ended(outcomeOfStatus(answer.code, failure), answer.code, failure.said)
    }
    const entries = protocol.entries(body)
    if (entries === null) return ended('unreadable', 200, null)
    const models = new Map<string, ListedModel>()
    for (const entry of entries.slice(0, MODELS_MAX)) {
      const fields = objectOf(entry)
      const model = fields === null ? null : protocol.model(fields)
      if (model !== null && model.id !== '' && model.id.length <= NAME_CHARS_MAX) models.set(model.id, model)
    }
    return { outcome: 'listed', status: 200, said: null, models: [...models.values()] }
  }
}

/** Why a provider's `auth` yields no token; null = it does yield one, or there is no `auth`. */
export async function tokenTrial(tokens: TokenCache, provider: Provider): Promise<ProviderTrial | null> {
  const token = isAuthorized(provider) ? await tokens.get(provider) : null
  if (token === null || !isRefused(token)) return null
  return ended('no_token', null, withoutSecretsOf(provider, token).said)
}

/** Reads the member `name` of an object, or the body itself if it is a list. */
export function entriesIn(name: string): ModelListProtocol['entries'] {
  return (body) => {
    if (Array.isArray(body)) return body
    const entries = objectOf(body)?.[name]
    return Array.isArray(entries) ? listOf(entries) : null
  }
}

/** A model with the fields that most lists have. */
export function listedModel(entry: RawJson, id: string | null): ListedModel | null {
  if (id === null) return null
  const name = textOf(entry['display_name']) ?? textOf(entry['displayName']) ?? textOf(entry['name'])
  return {
    id,
    name: name === null || name === id || name.endsWith(`/${id}`) ? null : name.slice(0, NAME_CHARS_MAX),
    contextLength: tokensOf(
      entry,
      'context_length',
      'context_window',
      'max_context_length',
      'max_model_len',
      'inputTokenLimit',
      'max_input_tokens',
    ),
    maxCompletionTokens: tokensOf(
      entry,
      'max_completion_tokens',
      'outputTokenLimit',
      'max_output_tokens',
      'max_tokens',
    ),
  }
}

function tokensOf(entry: RawJson, ...names: readonly string[]): number | null {
  const value = names.map((name) => entry[name]).find((found) => Number.isSafeInteger(found) && Number(found) > 0)
  return value === undefined ? null : Number(value)
}

function ended(outcome: TrialOutcome, status: number | null, said: string | null): ProviderTrial {
  return { outcome, status, said, models: [] }
}

function outcomeOfStatus(status: number, { refusal }: Pick<AttemptFailure, 'refusal'>): TrialOutcome {
  if (status === 401 || status === 403 || refusal === 'credentials') return 'refused'
  if (status === 404 || status === 405) return 'not_found'
  if (status === 429) return 'limited'
  return status >= 500 ? 'failed' : status >= 400 ? 'rejected' : 'unreadable'
}

function outcomeOf({ reason, why, refusal }: AttemptFailure): TrialOutcome {
  if (refusal === 'credentials') return 'no_token'
  if (reason === 'timeout' || reason === 'cancelled') return 'slow'
  return reason === 'too_large' ? 'unreadable' : (why ?? 'unreachable')
}

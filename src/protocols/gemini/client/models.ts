import type { Model } from '../../../catalog/catalog.ts'
import { ApiError } from '../../../base/errors.ts'
import { wholeParameter } from '../../../base/query-parameters.ts'
import type { ModelForms } from '../../ports/client-call.ts'

const PAGE_DEFAULT = 50
const PAGE_MAX = 1_000
/** Methods of the protocol, by the type of models that serve them. */
const METHODS: ReadonlyMap<Model['type'], readonly string[]> = new Map([
  ['chat', ['generateContent', 'streamGenerateContent', 'countTokens']],
  ['embeddings', ['embedContent', 'batchEmbedContents']],
])

export const GEMINI_MODELS: ModelForms = {
  types: [...METHODS.keys()],
  list: geminiModelList,
  one: geminiModel,
  paths: ['/v1beta/models', '/v1alpha/models'],
}

/** A model in the form of Gemini's protocol (clients.md 4). */
function geminiModel(model: Model): Record<string, unknown> {
  const { id, name, description, contextLength, maxCompletionTokens, type } = model
  const outputMax = maxCompletionTokens ?? contextLength
  return {
    name: `models/${id}`,
    version: '1',
    displayName: name,
    description: description ?? '',
    ...(contextLength === null ? {} : { inputTokenLimit: contextLength }),
    ...(outputMax === null ? {} : { outputTokenLimit: outputMax }),
    supportedGenerationMethods: METHODS.get(type) ?? [],
  }
}

/** A page of the list. Its token is the position of the next page. */
function geminiModelList(models: readonly Model[], query: URLSearchParams): Record<string, unknown> {
  const size = Math.min(wholeParameter(query, 'pageSize', 0, Number.MAX_SAFE_INTEGER) || PAGE_DEFAULT, PAGE_MAX)
  const token = query.get('pageToken') ?? ''
  if (!/^\d{0,9}$/.test(token))
    throw new ApiError('invalid_input', `pageToken: must be one of a page before, got '${token.slice(0, 100)}'`)
  const start = Number(token)
  const end = start + size
  return {
    models: models.slice(start, end).map(geminiModel),
    ...(end < models.length ? { nextPageToken: String(end) } : {}),
  }
}

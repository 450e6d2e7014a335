import type { Model, Snapshot } from '../../catalog/catalog.ts'
import { ApiError } from '../../base/errors.ts'
import { REQUEST_TYPE_TABLE, REQUEST_TYPES, servesType, type RequestType } from '../../tables/model-types.ts'
import { charactersOf } from '../../base/text.ts'
import type { ChatRequest } from '../../kinds/chat/request.ts'
import { PROMPT_CHARACTERS_MAX } from '../../kinds/images/request.ts'

/** A model to try, with the sort of its routing suffix. */
export interface ChosenModel {
  readonly model: Model
  /** null = the request names the model without a suffix. */
  readonly sort: 'price' | 'throughput' | null
}

const SUFFIXES = [
  { text: ':nitro', sort: 'throughput' },
  { text: ':floor', sort: 'price' },
] as const
const NAME_CHARS_MAX = 200

export interface ModelWish {
  /** As sent; null = the account's default. */
  readonly model: string | null
  readonly fallbackModels: readonly string[]
  readonly defaultModel: string | null
  /** Canonical ids; null = all. */
  readonly allowedModels: ReadonlySet<string> | null
  readonly type: RequestType
}

/**
 * The models of a request in the order in which to try them, each once. An unknown model is skipped if another one is
 * known. Any other refusal is thrown; if no model is known, the first refusal is thrown.
 */
export function chooseModels(wish: ModelWish, snapshot: Snapshot): readonly ChosenModel[] {
  const first = wish.model ?? (wish.fallbackModels.length > 0 ? null : wish.defaultModel)
  const names = first === null ? wish.fallbackModels : [first, ...wish.fallbackModels]
  if (names.length === 0) throw new ApiError('missing_model', "Parameter 'model' is required")
  const chosen = new Map<string, ChosenModel>()
  for (const name of names) {
    const found = findModel(name, snapshot)
    if (found === null) continue
    checkChoice(found, wish)
    if (!chosen.has(found.model.id)) chosen.set(found.model.id, found)
  }
  if (chosen.size === 0)
    throw new ApiError('model_not_found', `Model '${names[0]?.slice(0, NAME_CHARS_MAX)}' not found or inactive`)
  return [...chosen.values()]
}

function checkChoice({ model }: ChosenModel, wish: ModelWish): void {
  const { modelType, endpointName } = REQUEST_TYPE_TABLE[wish.type]
  if (!servesType(model, modelType)) throw notSupported(model.id, endpointName, endpointNames(model.type))
  if (wish.allowedModels !== null && !wish.allowedModels.has(model.id))
    throw new ApiError('access_denied', `This key has no access to model '${model.id}'`)
}

/** The names of the calls that serve a type of models. */
function endpointNames(type: Model['type']): string {
  return REQUEST_TYPES.map((name) => REQUEST_TYPE_TABLE[name])
    .flatMap(({ modelType, endpointName }) => (modelType === type ? [endpointName] : []))
    .join(', ')
}

/** The whole name is looked up first: an id of the catalogue may itself end like a suffix. */
function findModel(name: string, snapshot: Snapshot): ChosenModel | null {
  const whole = modelNamed(name, snapshot)
  if (whole !== null) return { model: whole, sort: null }
  for (const { text, sort } of SUFFIXES) {
    if (!name.endsWith(text)) continue
    const model = modelNamed(name.slice(0, -text.length), snapshot)
    if (model !== null) return { model, sort }
  }
  return null
}

/** A model without an endpoint cannot be sold and counts as unknown. */
function modelNamed(name: string, snapshot: Snapshot): Model | null {
  const model = snapshot.models.get(snapshot.aliases.get(name) ?? name)
  return model === undefined || !model.active || model.endpoints.length === 0 ? null : model
}

/** The modalities of a request with pictures. */
export const WITH_IMAGES: Pick<ChatRequest, 'inputModalities'> = { inputModalities: new Set(['image']) }

/** Throws `model_not_supported` if the messages contain a modality that the model cannot read. */
export function checkModalities(model: Model, request: Pick<ChatRequest, 'inputModalities'>): void {
  for (const modality of request.inputModalities) {
    if (!model.inputModalities.includes(modality))
      throw notSupported(model.id, `${modality} input`, model.inputModalities.join(', '))
  }
}

/** Throws if a prompt is longer than the model allows. People count characters, some of which are two UTF-16 units. */
export function checkPrompt(prompt: string, { maxPromptLength }: Model): void {
  const most = maxPromptLength ?? PROMPT_CHARACTERS_MAX
  const characters = prompt.length <= most ? prompt.length : charactersOf(prompt)
  if (characters > most)
    throw new ApiError('prompt_too_long', `prompt is ${characters} characters long, the maximum is ${most}`)
}

function notSupported(id: string, what: string, supported: string): ApiError {
  return new ApiError('model_not_supported', `Model '${id}' does not support ${what}. Supported: ${supported}`)
}

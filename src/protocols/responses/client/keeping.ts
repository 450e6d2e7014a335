import {
  booleanField,
  field,
  invalidInput,
  isObject,
  stringField,
  wordOf,
  type RawObject,
} from '../../../kinds/fields/body-fields.ts'
import { inputElements, parseItems } from './input-items.ts'
import type { InputItem, Keeping, ResponsesDoor, ResponsesRequest } from '../request.ts'

const PREVIOUS = 'previous_response_id'
/** Other objects that OpenAI stores for a client. */
const NOT_KEPT = ['conversation', 'prompt']
const NOT_KEPT_REFUSAL =
  'not supported: send the whole conversation in input, or continue an answer by previous_response_id'

/** The id of the Response that a body continues; it is read before the rest of the body. null = none. */
export function previousIdOf(body: unknown): string | null {
  return isObject(body) ? (stringField(body, PREVIOUS) ?? null) : null
}

/** The ids of the items to which `input` refers, and how often. */
export function referencesOf(body: unknown): ReadonlyMap<string, number> {
  const times = new Map<string, number>()
  for (const [index, element] of inputList(body).entries()) {
    if (!isReference(element)) continue
    const id = stringField(element, 'id', `input[${index}].id`) ?? ''
    if (id === '') throw invalidInput(`input[${index}].id`, 'must be a non-empty string')
    times.set(id, (times.get(id) ?? 0) + 1)
  }
  return times
}

/** The elements of `input`, in which the items replace the references to them. */
export function resolvedInput<Item>(body: unknown, items: ReadonlyMap<string, Item>): readonly unknown[] {
  return inputList(body).map((element) => (isReference(element) ? items.get(wordOf(element['id'])) : element))
}

function inputList(body: unknown): readonly unknown[] {
  const input = isObject(body) ? field(body, 'input') : undefined
  return Array.isArray(input) ? input : []
}

/** Whether an element only names an item of a kept Response. */
function isReference(element: unknown): element is RawObject {
  if (!isObject(element)) return false
  const type = field(element, 'type')
  if (type !== undefined) return type === 'item_reference'
  return field(element, 'role') === undefined && field(element, 'id') !== undefined
}

/**
 * Whether the answer is kept, and why. A background answer is kept so that it can be fetched; any other only if the
 * request says so.
 */
export function keepingOf(body: RawObject, door: ResponsesDoor | null): Keeping {
  for (const name of NOT_KEPT) if (field(body, name) !== undefined) throw invalidInput(name, NOT_KEPT_REFUSAL)
  const store = booleanField(body, 'store')
  const background = booleanField(body, 'background') ?? false
  const previousId = stringField(body, PREVIOUS) ?? null
  if (background && store === false) throw invalidInput('background', "needs 'store': its answer is asked for later")
  if (door?.socket === true && background) throw invalidInput('background', 'is not offered over a WebSocket')
  if (door === null && (background || previousId !== null))
    throw invalidInput(background ? 'background' : PREVIOUS, 'only POST /v1/responses has it')
  return { store: door !== null && (store ?? background), background, previousId }
}

/** The items that a request adds to its conversation, all items of the conversation, and the stored part of both. */
export function conversationOf(
  body: RawObject,
  door: ResponsesDoor | null,
  { previousId }: Keeping,
): Pick<ResponsesRequest, 'added' | 'row'> & { readonly items: readonly InputItem[] } {
  const history = door?.history ?? []
  const added = door?.resolved ?? addedItems(body, history.length > 0)
  return {
    added,
    items: [...parseItems(history, PREVIOUS), ...parseItems(added, 'input')],
    row: door?.isKept === true ? { items: added, previousId } : { items: [...history, ...added], previousId: null },
  }
}

/** The elements of `input`; a conversation may be continued without new ones. */
function addedItems(body: RawObject, continues: boolean): readonly unknown[] {
  const input = field(body, 'input')
  if (continues && (input === undefined || input === '')) return []
  if (continues && Array.isArray(input) && input.length === 0) return []
  return inputElements(body)
}

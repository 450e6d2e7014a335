import { refuseNulInValue } from '../../base/refusals.ts'
import { type RawObject, field, isObject } from './body-fields.ts'
import type { UploadedForm } from './uploaded-form.ts'

/** Fields in which a client names its own users and caches. */
const NAMES = ['user', 'prompt_cache_key', 'safety_identifier'] as const

/** Returns the form that a name of an account has outside; equal names of an account have equal forms. */
export type OutwardName = (name: string) => string

/**
 * The body with the outward form of every name in it; the same body if it has none. For a provider, all accounts behind
 * one key are one customer: unchanged, equal names of two accounts would share a prompt cache and a bad reputation.
 * Everything that is sent to a provider is read from this body.
 */
export function outwardBody(json: unknown, outward: OutwardName): unknown {
  if (!isObject(json)) return json
  const metadata = field(json, 'metadata')
  const renamed = renamedIn(json, NAMES, outward)
  return isObject(metadata) && typeof metadata['user_id'] === 'string'
    ? { ...renamed, metadata: renamedIn(metadata, ['user_id'], outward) }
    : renamed
}

/** The same for a form. */
export function outwardForm<Form extends UploadedForm>(form: Form, outward: OutwardName): Form {
  const names: readonly string[] = NAMES
  return {
    ...form,
    fields: form.fields.map(([name, value]) =>
      names.includes(name) && value !== '' ? [name, outward(value)] : [name, value],
    ),
  }
}

/** A value of a wrong type is refused later, when the field is read. */
function renamedIn(object: RawObject, names: readonly string[], outward: OutwardName): RawObject {
  let renamed = object
  for (const name of names) {
    const given = field(object, name)
    if (typeof given === 'string' && given !== '') renamed = { ...renamed, [name]: outward(given) }
  }
  return renamed
}

/**
 * Members of paid bodies, of every protocol, that a model reads. Their text goes only to a provider, is neither stored
 * as plain text nor looked up, and may contain any character.
 */
export const PROMPT_MEMBERS: ReadonlySet<string> = new Set(
  (
    'messages system prompt suffix input instructions prediction message chat_history contents content ' +
    'systemInstruction system_instruction generateContentRequest requests tools functions toolConfig response_format ' +
    'output_config output_format text format generationConfig generation_config options stop stop_sequences template ' +
    'preamble query documents texts inputs negative_prompt image images'
  ).split(' '),
)

/** Refuses NUL, as the edge does for a JSON body; null = there is no form. */
export function refuseNulInForm(form: { readonly fields: readonly (readonly [string, string])[] } | null): void {
  for (const [name, value] of form?.fields ?? []) if (!PROMPT_MEMBERS.has(name)) refuseNulInValue(value, name)
}

import { refuseNulInValue } from '../../base/refusals.ts'

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

import type { ChatRequest } from '../../kinds/chat/request.ts'
import { UnsendableError } from '../ports/upstream-request.ts'
import { objectOf, textOf } from '../wire/raw-json.ts'
import { constrainedSchema } from './constrained-schema.ts'
import type { ModelTraits } from './model-traits.ts'

/** The way to ask for a `response_format`; the protocol has none for JSON without a schema. */
export type OutputFormat =
  | { readonly kind: 'text' }
  | { readonly kind: 'instruction'; readonly text: string }
  | { readonly kind: 'constrained'; readonly schema: Readonly<Record<string, unknown>> }
  /** A tool that must be called: its input is the answer. Any object schema will do. */
  | {
      readonly kind: 'tool'
      readonly tool: {
        readonly name: string
        readonly description: string
        readonly input_schema: Readonly<Record<string, unknown>>
      }
    }

const ANSWER_TOOL = 'give_answer'
const JSON_INSTRUCTION =
  'Answer with one valid JSON object and nothing else: no words before or after it, and no Markdown fence.'

export function outputFormatOf({ responseFormat, tools }: ChatRequest, traits: ModelTraits): OutputFormat {
  if (responseFormat === null) return { kind: 'text' }
  if (responseFormat['type'] !== 'json_schema') return { kind: 'instruction', text: JSON_INSTRUCTION }
  const format = objectOf(responseFormat['json_schema']) ?? {}
  const schema = objectOf(format['schema']) ?? {}
  const constrained = traits.constrains ? constrainedSchema(schema) : null
  if (constrained !== null) return { kind: 'constrained', schema: constrained }
  if ((schema['type'] ?? 'object') !== 'object')
    throw new UnsendableError("response_format.json_schema.schema: this provider needs a schema whose type is 'object'")
  const description = `Gives the final answer${textOf(format['description']) === null ? '' : `: ${textOf(format['description'])}`}`
  return {
    kind: 'tool',
    tool: {
      name: freeName((tools ?? []).map((tool) => tool.function.name)),
      description,
      input_schema: objectSchema(schema),
    },
  }
}

/** A tool's input is always an object, which a client's schema need not state. */
export function objectSchema(schema: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return schema['type'] === 'object' ? schema : { type: 'object', ...schema }
}

function freeName(taken: readonly string[]): string {
  let name = ANSWER_TOOL
  while (taken.includes(name)) name += '_'
  return name
}

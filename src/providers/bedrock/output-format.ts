import { constrainedSchema } from '../anthropic/constrained-schema.ts'
import type { ChatRequest } from '../../kinds/chat/request.ts'
import { UnsendableError } from '../../protocols/ports/upstream-request.ts'
import { objectOf, textOf, type RawJson } from '../../protocols/wire/raw-json.ts'
import type { BedrockModel } from './bedrock-model.ts'
import type { BedrockBlock } from '../../protocols/bedrock/content.ts'

/** The way to ask for a `response_format`; the protocol has none for JSON without a schema. */
export type OutputFormat =
  | { readonly kind: 'text' }
  | { readonly kind: 'words'; readonly text: string }
  /** `textFormat` of the protocol's `outputConfig`. */
  | { readonly kind: 'decoding'; readonly textFormat: BedrockBlock }
  /** A tool that must be called: its input is the answer. Any object schema will do. */
  | { readonly kind: 'tool'; readonly name: string; readonly toolSpec: BedrockBlock }

const ANSWER_TOOL = 'give_answer'
const JSON_ONLY =
  'Answer with one valid JSON object and nothing else: no words before or after it, and no Markdown fence.'

export function outputFormatOf(
  { responseFormat, tools }: ChatRequest,
  { claude, schemaMeans }: BedrockModel,
): OutputFormat {
  if (responseFormat === null) return { kind: 'text' }
  if (responseFormat['type'] !== 'json_schema') return { kind: 'words', text: JSON_ONLY }
  const format = objectOf(responseFormat['json_schema']) ?? {}
  const schema = objectOf(format['schema']) ?? {}
  if (schemaMeans === 'words')
    return { kind: 'words', text: `${JSON_ONLY} It must fit this JSON schema: ${JSON.stringify(schema)}` }
  const decoded = schemaMeans === 'tool' ? null : claude === null ? schema : constrainedSchema(schema)
  if (decoded !== null) return { kind: 'decoding', textFormat: textFormatOf(format, decoded) }
  if ((schema['type'] ?? 'object') !== 'object')
    throw new UnsendableError("response_format.json_schema.schema: this provider needs a schema whose type is 'object'")
  const name = freeName((tools ?? []).map((tool) => tool.function.name))
  const about = textOf(format['description']) ?? ''
  return {
    kind: 'tool',
    name,
    toolSpec: {
      name,
      description: `Gives the final answer${about === '' ? '' : `: ${about}`}`,
      inputSchema: { json: objectSchema(schema) },
    },
  }
}

/** A tool's input is always an object, which a client's schema need not state. */
export function objectSchema(schema: RawJson): RawJson {
  return schema['type'] === 'object' ? schema : { type: 'object', ...schema }
}

/** The schema is sent as a string within the JSON. */
function textFormatOf(format: RawJson, schema: RawJson): BedrockBlock {
  const description = textOf(format['description']) ?? ''
  const name = (textOf(format['name']) ?? '').replaceAll(/[^a-zA-Z0-9_-]/g, '_')
  return {
    type: 'json_schema',
    structure: { jsonSchema: { name, ...(description === '' ? {} : { description }), schema: JSON.stringify(schema) } },
  }
}

function freeName(taken: readonly string[]): string {
  let name = ANSWER_TOOL
  while (taken.includes(name)) name += '_'
  return name
}

import { BODY_LIMITS, JsonScan } from '../../lib/json-scan.ts'
import type { AnswerEvent } from '../answer/event.ts'
import { isObject } from '../fields/json-fields.ts'
import { ContentBlocks, type BlockStep } from './content-blocks.ts'

type Block = Record<string, unknown>

/** The content of a whole answer, folded from the steps of its stream. */
export function foldedContent(events: readonly AnswerEvent[], omitsThinking: boolean): readonly Block[] {
  const content: Block[] = []
  const inputs = new Map<number, string>()
  const blocks = new ContentBlocks((step) => take(step, content, inputs), omitsThinking)
  for (const event of events) blocks.add(event)
  blocks.close()
  for (const [index, text] of inputs) {
    const block = content[index]
    if (block !== undefined) block['input'] = inputOf(text)
  }
  return content
}

function take(step: BlockStep, content: Block[], inputs: Map<number, string>): void {
  if (step.type === 'content_block_start') content[step.index] = { ...step.content_block }
  const block = content[step.index]
  if (step.type !== 'content_block_delta' || block === undefined) return
  const { type, text, thinking, signature, citation, partial_json: json } = step.delta
  switch (type) {
    case 'text_delta':
      block['text'] = `${block['text']}${text}`
      return
    case 'thinking_delta':
      block['thinking'] = `${block['thinking']}${thinking}`
      return
    case 'signature_delta':
      block['signature'] = signature
      return
    case 'citations_delta':
      block['citations'] = [...(Array.isArray(block['citations']) ? block['citations'] : []), citation]
      return
    case 'input_json_delta':
      inputs.set(step.index, (inputs.get(step.index) ?? '') + json)
  }
}

/** Some models send null for a tool without parameters; invalid JSON, or a bomb, is kept as one value. */
function inputOf(text: string): Readonly<Record<string, unknown>> {
  if (new JsonScan(BODY_LIMITS).whole(Buffer.from(text)) !== null) return { arguments: text }
  try {
    const input: unknown = JSON.parse(text)
    return isObject(input) ? input : {}
  } catch {
    return { arguments: text }
  }
}

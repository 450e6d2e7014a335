import { ApiError } from '../../../base/errors.ts'
import { CLAUDE_REASONING } from '../../models/claude-traits.ts'
import { cacheMark, mediaPart, mediumOfPart, textIn } from '../../../kinds/chat/parts.ts'
import type { ChatMessage, ChatPart, ChatToolCall } from '../../../kinds/chat/request.ts'
import {
  badMessage,
  field,
  invalidInput,
  isObject,
  quoted,
  type RawObject,
  wordOf,
} from '../../../kinds/fields/body-fields.ts'
import { isBase64, mediumOf } from '../../../kinds/fields/media.ts'
import { decodeDetails } from '../../../kinds/answer/provenance.ts'
import type { ReadingNotes } from './request.ts'
import { isRunByClient } from './tools.ts'

/** The first text of Claude Code's prompts, for Anthropic's own accounting; it changes with every request. */
const ACCOUNTING = 'x-anthropic-billing-header:'

/** The blocks of a content; a string counts as one text block. */
export function blocksOf(content: unknown, path: string): readonly RawObject[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  if (!Array.isArray(content)) throw badMessage(path, 'must be a string or an array of content blocks')
  return content.map((block: unknown, index) => {
    if (!isObject(block)) throw badMessage(`${path}[${index}]`, 'must be an object')
    if (typeof field(block, 'type') !== 'string') throw badMessage(`${path}[${index}]`, 'type is required')
    refuseInlineTools(block, `${path}[${index}]`)
    return block
  })
}

/** Refuses tools defined in blocks: a tool that a provider runs has a price only in `tools`. */
function refuseInlineTools(block: RawObject, path: string): void {
  const changes = block['type'] === 'compaction' ? field(block, 'tool_changes') : [block]
  for (const change of Array.isArray(changes) ? changes : []) {
    const tool = isObject(change) ? field(change, 'tool') : undefined
    const definition = isObject(tool) ? field(tool, 'definition') : undefined
    if (isObject(definition) && !isRunByClient(field(definition, 'type')))
      throw invalidInput(path, 'a tool that the provider runs is defined in tools, not among the messages')
  }
}

/** A system text; empty if nothing of it is left. */
export function systemMessage(content: unknown, path: string, notes: ReadingNotes): readonly ChatMessage[] {
  const parts = blocksOf(content, path).flatMap((block, index) => {
    if (block['type'] === 'tool_addition' || block['type'] === 'tool_removal') {
      notes.nativeOnly ??= { path: `${path}[${index}].type`, type: block['type'] }
      return []
    }
    if (block['type'] !== 'text') throw badMessage(`${path}[${index}]`, "type must be 'text'")
    const part = textPart(block, `${path}[${index}]`)
    if (!part.text.startsWith(ACCOUNTING)) return [part]
    notes.untranslated.add('system.x-anthropic-billing-header')
    return []
  })
  return parts.every(({ text }) => text === '') ? [] : [{ role: 'system', content: contentOf(parts) }]
}

/** A user's turn: tool results come first, as answers to the calls before the turn. */
export function userMessages(content: unknown, path: string, notes: ReadingNotes): readonly ChatMessage[] {
  const results: ChatMessage[] = []
  const parts: ChatPart[] = []
  for (const [index, block] of blocksOf(content, path).entries()) {
    const place = `${path}[${index}]`
    if (block['type'] === 'tool_result') results.push(toolResult(block, place, notes))
    else parts.push(...userParts(block, place, notes))
  }
  return parts.length === 0 ? results : [...results, { role: 'user', content: contentOf(parts) }]
}

/** The model's turn; empty if all of it was for another provider. */
export function assistantMessages(content: unknown, path: string, notes: ReadingNotes): readonly ChatMessage[] {
  const parts: ChatPart[] = []
  const calls: ChatToolCall[] = []
  const reasoning: string[] = []
  const details: unknown[] = []
  for (const [index, block] of blocksOf(content, path).entries()) {
    const place = `${path}[${index}]`
    switch (block['type']) {
      case 'text':
        parts.push(textPart(block, place))
        break
      case 'thinking':
        reasoning.push(textIn(block, 'thinking', place))
        details.push(...thinkingDetails(block, details.length))
        break
      case 'redacted_thinking':
        details.push({
          type: 'reasoning.encrypted',
          data: textIn(block, 'data', place),
          format: CLAUDE_REASONING,
          index: details.length,
        })
        break
      case 'tool_use':
        calls.push(toolUse(block, place))
        break
      default:
        // A call that its provider ran; its result is in the text next to it.
        notes.untranslated.add(`messages.${quoted(block['type'])}`)
        notes.copiesFiles ||= holdsFile(block)
    }
  }
  const thoughts = reasoning.filter((text) => text !== '').join('\n')
  const said = parts.some((part) => part.type === 'text' && part.text !== '')
  if (!said && calls.length === 0 && thoughts === '' && details.length === 0) return []
  return [
    {
      role: 'assistant',
      content: said ? contentOf(parts) : null,
      ...(thoughts === '' ? {} : { reasoning: thoughts }),
      ...(details.length === 0 ? {} : { reasoning_details: details }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
  ]
}

/** Claude's thinking has Claude's signature; that of any other model has one that we made. */
function thinkingDetails(block: RawObject, index: number): readonly unknown[] {
  const signature = field(block, 'signature')
  if (typeof signature !== 'string' || signature === '') return []
  const wrapped = decodeDetails(signature)
  if (wrapped !== null) return wrapped
  return [{ type: 'reasoning.text', text: field(block, 'thinking'), signature, format: CLAUDE_REASONING, index }]
}

function toolUse(block: RawObject, path: string): ChatToolCall {
  const id = filledIn(block, 'id', path)
  const name = filledIn(block, 'name', path)
  const input = field(block, 'input') ?? {}
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input) } }
}

function toolResult(block: RawObject, path: string, notes: ReadingNotes): ChatMessage {
  const id = filledIn(block, 'tool_use_id', path)
  const blocks = blocksOf(field(block, 'content') ?? '', `${path}.content`)
  const parts = blocks.flatMap((inner, index) => userParts(inner, `${path}.content[${index}]`, notes))
  const mark = cacheMark(block, path)
  const last = parts.at(-1)
  // A cache mark on the result is moved to its last part.
  const marked = mark === undefined || last?.type !== 'text' ? parts : [...parts.slice(0, -1), { ...last, ...mark }]
  return {
    role: 'tool',
    tool_call_id: id,
    content: marked.length === 0 ? '' : contentOf(marked),
    ...(field(block, 'is_error') === true ? { is_error: true as const } : {}),
  }
}

function userParts(block: RawObject, path: string, notes: ReadingNotes): readonly ChatPart[] {
  switch (block['type']) {
    case 'text':
      return [textPart(block, path)]
    case 'image':
      return [imagePart(block, path, notes)]
    case 'document':
      return documentParts(block, path, notes)
    case 'search_result':
      return searchResultParts(block, path)
    case 'tool_reference':
      return [{ type: 'text', text: `The tool ${textIn(block, 'tool_name', path)} is available.` }]
    case 'container_upload':
      throw invalidInput(`${path}.file_id`, 'files are not stored here, send the content instead')
    default:
      notes.nativeOnly ??= { path: `${path}.type`, type: quoted(block['type']) }
      notes.copiesFiles ||= holdsFile(block)
      return []
  }
}

/** Whether there is a file anywhere in a block that is not read; texts count by their bytes. */
function holdsFile(block: RawObject): boolean {
  const waiting: unknown[] = [block]
  while (waiting.length > 0) {
    const next = waiting.pop()
    const source = isObject(next) ? next['source'] : null
    if (isObject(source) && source['type'] !== 'text' && source['type'] !== 'content') return true
    if (typeof next === 'object' && next !== null) for (const inner of Object.values(next)) waiting.push(inner)
  }
  return false
}

function textPart(block: RawObject, path: string): Extract<ChatPart, { type: 'text' }> {
  return { type: 'text', text: textIn(block, 'text', path), ...cacheMark(block, path) }
}

function imagePart(block: RawObject, path: string, notes: ReadingNotes): ChatPart {
  return filePart(sourceOf(block, path), { as: 'image', path: `${path}.source`, notes }, cacheMark(block, path))
}

interface FilePlace {
  readonly as: 'image' | 'file'
  readonly path: string
  readonly notes: ReadingNotes
  readonly filename?: string
}

/** An image or a document, by its address or its data. */
function filePart(
  source: RawObject,
  { as, path, notes, filename }: FilePlace,
  mark: { cache_control?: unknown } = {},
): ChatPart {
  const url = source['type'] === 'url' ? filledIn(source, 'url', path) : dataUrl(source, path, notes)
  const part = mediaPart({ url, as, filename }, path, mark)
  const declared = source['type'] === 'url' ? as : mediumOf(wordOf(source['media_type']).toLowerCase())
  if (mediumOfPart(part) !== as || declared !== as) notes.mistyped ??= path
  return part
}

function documentParts(block: RawObject, path: string, notes: ReadingNotes): readonly ChatPart[] {
  const source = sourceOf(block, path)
  const citations = field(block, 'citations')
  if (isObject(citations) && citations['enabled'] === true) notes.untranslated.add('messages.citations')
  const title = field(block, 'title')
  const named = typeof title === 'string' && title !== '' ? { filename: title } : {}
  const [context] = [field(block, 'context')]
  const about = typeof context === 'string' && context !== '' ? [{ type: 'text' as const, text: context }] : []
  const heading = 'filename' in named ? [{ type: 'text' as const, text: named.filename }] : []
  switch (source['type']) {
    case 'text':
      return [...heading, ...about, { type: 'text', text: textIn(source, 'data', `${path}.source`) }]
    case 'content': {
      const inner = blocksOf(field(source, 'content'), `${path}.source.content`)
      const parts = inner.flatMap((one, index) => userParts(one, `${path}.source.content[${index}]`, notes))
      return [...heading, ...about, ...parts]
    }
    default:
      return [...about, filePart(source, { ...named, as: 'file', path: `${path}.source`, notes })]
  }
}

function searchResultParts(block: RawObject, path: string): readonly ChatPart[] {
  const head = [field(block, 'title'), field(block, 'source')].filter((text) => typeof text === 'string')
  const texts = blocksOf(field(block, 'content') ?? [], `${path}.content`).map((inner, index) =>
    textIn(inner, 'text', `${path}.content[${index}]`),
  )
  return [{ type: 'text', text: [...head, ...texts].join('\n') }]
}

function sourceOf(block: RawObject, path: string): RawObject {
  const source = field(block, 'source')
  if (!isObject(source)) throw badMessage(path, 'source must be an object')
  const type = field(source, 'type')
  if (type === 'file') throw invalidInput(`${path}.source`, 'files are not stored here, send the content instead')
  const allowed = block['type'] === 'image' ? ['base64', 'url'] : ['base64', 'url', 'text', 'content']
  if (typeof type !== 'string' || !allowed.includes(type))
    throw badMessage(`${path}.source.type`, `must be one of ${allowed.join(', ')}`)
  return source
}

function dataUrl(source: RawObject, path: string, notes: ReadingNotes): string {
  const type = filledIn(source, 'media_type', path)
  const data = filledIn(source, 'data', path)
  if (!isBase64(data)) throw new ApiError('invalid_base64', `${path}.data is not valid base64`)
  notes.mediaBytes += data.length
  return `data:${type};base64,${data}`
}

/** The content of a message: a single plain text is a string, which every provider accepts. */
function contentOf(parts: readonly ChatPart[]): string | readonly ChatPart[] {
  const [only] = parts
  return parts.length === 1 && only?.type === 'text' && only.cache_control === undefined ? only.text : parts
}

function filledIn(block: RawObject, name: string, path: string): string {
  const value = textIn(block, name, path)
  if (value !== '') return value
  throw badMessage(path, `${name} must not be empty`)
}

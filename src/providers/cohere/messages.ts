import type { ChatMessage, ChatPart } from '../../kinds/chat/request.ts'
import { UnsendableError } from '../ports/upstream-request.ts'
import { toolPlanOf } from './tool-plan.ts'

type Body = Readonly<Record<string, unknown>>

/** The conversation in Cohere's form. `takesReasoning`: the model reads its earlier thinking. */
export function cohereMessages(messages: readonly ChatMessage[], takesReasoning: boolean): readonly Body[] {
  return messages.flatMap((message, index) => {
    const path = `messages[${index}]`
    switch (message.role) {
      case 'system':
      case 'developer':
        return [{ role: 'system', content: contentOf(message, path) }]
      case 'user':
        return [{ role: 'user', content: contentOf(message, path) }]
      case 'tool':
        return [{ role: 'tool', tool_call_id: message.tool_call_id, content: contentOf(message, path) }]
      case 'assistant':
        return assistantMessages(message, path, takesReasoning)
    }
  })
}

/** One message, or none when nothing remains that Cohere can read. */
function assistantMessages(message: ChatMessage, path: string, takesReasoning: boolean): readonly Body[] {
  const { content, refusal = '', reasoning = '', reasoning_details: details = [], tool_calls: calls = [] } = message
  const said = content === null || content === '' ? refusal : contentOf(message, path)
  const thinking = takesReasoning && reasoning !== '' ? [{ type: 'thinking', thinking: reasoning }] : []
  const blocks = typeof said === 'string' ? (said === '' ? [] : [{ type: 'text', text: said }]) : said
  const plan = calls.length === 0 ? '' : toolPlanOf(details)
  if (blocks.length + thinking.length + calls.length === 0) return []
  return [
    {
      role: 'assistant',
      ...(blocks.length + thinking.length === 0
        ? {}
        : { content: thinking.length === 0 ? said : [...thinking, ...blocks] }),
      ...(plan === '' ? {} : { tool_plan: plan }),
      ...(calls.length === 0
        ? {}
        : {
            tool_calls: calls.map(({ id, function: { name, arguments: text } }) => ({
              id,
              type: 'function',
              function: { name, arguments: text === '' ? '{}' : text },
            })),
          }),
    },
  ]
}

function contentOf({ content, role }: ChatMessage, path: string): string | readonly Body[] {
  if (content === null || typeof content === 'string') return content ?? ''
  return content.map((part, index) => partOf(part, role, `${path}.content[${index}]`))
}

function partOf(part: ChatPart, role: ChatMessage['role'], path: string): Body {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text }
    case 'refusal':
      return { type: 'text', text: part.refusal }
    case 'image_url': {
      const { url, detail } = part.image_url
      if (role !== 'user') throw new UnsendableError(`${path}: this provider takes images in user messages only`)
      return { type: 'image_url', image_url: { url, ...(detail === undefined ? {} : { detail }) } }
    }
    case 'input_audio':
    case 'file':
    case 'video_url':
      throw new UnsendableError(`${path}: this provider takes no part of type ${part.type}`)
  }
}

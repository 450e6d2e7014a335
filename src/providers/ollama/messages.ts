import type { ChatMessage, ChatPart } from '../../kinds/chat/request.ts'
import { UnsendableError } from '../../protocols/ports/upstream-request.ts'
import { toolInput } from '../../protocols/answers/tool-input.ts'
import type { JsonObject } from '../../lib/json-object.ts'

const DATA_URL = /^data:[^,]*;base64,/i

interface OllamaContent {
  readonly content: string
  readonly images?: readonly string[]
}

/**
 * The conversation in Ollama's form, where text and images are separate. `takesReasoning`: the model reads its earlier
 * thinking.
 */
export function ollamaMessages(messages: readonly ChatMessage[], takesReasoning: boolean): readonly JsonObject[] {
  const toolNames = new Map<string, string>()
  return messages.map((message, index) => {
    const path = `messages[${index}]`
    const said = contentOf(message.content, path)
    switch (message.role) {
      case 'system':
      case 'developer':
        return { role: 'system', ...said }
      case 'user':
        return { role: 'user', ...said }
      case 'tool':
        return { role: 'tool', ...said, ...toolReference(message, toolNames) }
      case 'assistant':
        for (const {
          id,
          function: { name },
        } of message.tool_calls ?? [])
          toolNames.set(id, name)
        return assistantMessage(message, said, path, takesReasoning)
    }
  })
}

/** Templates identify a result by its tool's name; only newer ones know the call's id. */
function toolReference(
  { tool_call_id: id = '', name: given }: ChatMessage,
  toolNames: ReadonlyMap<string, string>,
): JsonObject {
  const name = toolNames.get(id) ?? given
  return { ...(name === undefined ? {} : { tool_name: name }), tool_call_id: id }
}

function assistantMessage(
  { refusal = '', reasoning = '', tool_calls: calls = [] }: ChatMessage,
  said: OllamaContent,
  path: string,
  takesReasoning: boolean,
): JsonObject {
  return {
    role: 'assistant',
    ...said,
    ...(said.content === '' && refusal !== '' ? { content: refusal } : {}),
    ...(takesReasoning && reasoning !== '' ? { thinking: reasoning } : {}),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ id, function: called }, index) => ({
            id,
            function: {
              name: called.name,
              arguments: toolInput(called.arguments, `${path}.tool_calls[${index}].function.arguments`),
            },
          })),
        }),
  }
}

function contentOf(content: ChatMessage['content'], path: string): OllamaContent {
  if (content === null || typeof content === 'string') return { content: content ?? '' }
  const texts: string[] = []
  const images: string[] = []
  for (const [index, part] of content.entries()) addPart(part, `${path}.content[${index}]`, texts, images)
  return { content: texts.join('\n'), ...(images.length === 0 ? {} : { images }) }
}

function addPart(part: ChatPart, path: string, texts: string[], images: string[]): void {
  switch (part.type) {
    case 'text':
      texts.push(part.text)
      return
    case 'refusal':
      texts.push(part.refusal)
      return
    case 'image_url':
      images.push(imageBytes(part.image_url.url, path))
      return
    case 'input_audio':
    case 'file':
    case 'video_url':
      throw new UnsendableError(`${path}: this provider takes no part of type ${part.type}`)
  }
}

/** Ollama accepts only base64 data: the part of a data URL after its comma. */
function imageBytes(url: string, path: string): string {
  const head = DATA_URL.exec(url.slice(0, 256))
  if (head === null)
    throw new UnsendableError(
      `${path}.image_url.url: this provider fetches no addresses. Send the image as a data URL in base64`,
    )
  return url.slice(head[0].length)
}

import type { ChatPart } from '../../../kinds/chat/request.ts'
import type { InputItem } from '../../../protocols/responses/client/request.ts'
import type { RawJson } from '../../../protocols/wire/raw-json.ts'
import { unmarked } from './provenance.ts'

/**
 * An item in the protocol's form; empty where the service would refuse it, or where another `provider` encrypted it.
 * `supported` null = everything of the protocol.
 */
export function inputItem(item: InputItem, supported: readonly string[] | null, provider: string): readonly RawJson[] {
  switch (item.type) {
    case 'message': {
      const { role, content, phase } = item
      const spoken = role === 'developer' && supported?.includes('developer') !== true ? 'system' : role
      return [
        {
          type: 'message',
          role: spoken,
          content: typeof content === 'string' ? content : content.map((part) => partOf(part, role === 'assistant')),
          ...(phase === null ? {} : { phase }),
        },
      ]
    }
    case 'function_call':
      return [
        {
          type: 'function_call',
          call_id: item.callId,
          name: item.name,
          arguments: item.arguments,
          ...(item.namespace === null ? {} : { namespace: item.namespace }),
        },
      ]
    case 'function_call_output':
      return [
        {
          type: 'function_call_output',
          call_id: item.callId,
          output: typeof item.output === 'string' ? item.output : item.output.map((part) => partOf(part, false)),
        },
      ]
    case 'reasoning':
      return reasoningItem(item, supported, provider)
    case 'native':
      return nativeItem(item.value, provider)
  }
}

/**
 * Plain thoughts go to services that list reasoning; encrypted ones come from this provider, which accepts them again.
 */
function reasoningItem(
  { summary, content, encryptedContent }: Extract<InputItem, { type: 'reasoning' }>,
  supported: readonly string[] | null,
  provider: string,
): readonly RawJson[] {
  const encrypted = encryptedContent === null ? null : unmarked(encryptedContent, provider)
  if (encrypted === null && supported?.includes('reasoning') !== true) return []
  return [
    {
      type: 'reasoning',
      summary: summary.map((text) => ({ type: 'summary_text', text })),
      ...(content.length === 0 ? {} : { content: content.map((text) => ({ type: 'reasoning_text', text })) }),
      ...(encrypted === null ? {} : { encrypted_content: encrypted }),
    },
  ]
}

function nativeItem(value: RawJson, provider: string): readonly RawJson[] {
  const { encrypted_content: given } = value
  if (typeof given !== 'string') return [value]
  const encrypted = unmarked(given, provider)
  return encrypted === null ? [] : [{ ...value, encrypted_content: encrypted }]
}

function partOf(part: ChatPart, isOutput: boolean): RawJson {
  switch (part.type) {
    case 'text':
      return { type: isOutput ? 'output_text' : 'input_text', text: part.text }
    case 'image_url':
      return { type: 'input_image', image_url: part.image_url.url, detail: part.image_url.detail ?? 'auto' }
    case 'input_audio':
      return { type: 'input_audio', input_audio: { data: part.input_audio.data, format: part.input_audio.format } }
    case 'file': {
      const { filename, file_data: data } = part.file
      return {
        type: 'input_file',
        ...(filename === undefined ? {} : { filename }),
        ...(/^https?:/i.test(data) ? { file_url: data } : { file_data: data }),
      }
    }
    case 'video_url':
      return { type: 'input_video', video_url: part.video_url.url }
    case 'refusal':
      return { type: 'refusal', refusal: part.refusal }
  }
}

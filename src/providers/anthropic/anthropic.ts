import type { Adapter } from '../adapter.ts'
import { createNative, type NativeProtocol } from '../native.ts'
import { SseDecoder } from '../sse-decoder.ts'
import type { Transport } from '../transport.ts'
import { anthropicCompletions } from './completions.ts'
import { ANTHROPIC_PARAMETERS } from './parameters.ts'
import { AnthropicReader } from './reader.ts'
import { anthropicRequest, askedFormat } from './request.ts'
import { hidesReasoning } from './thinking.ts'

/** Anthropic's Messages protocol, which others speak as well. */
export function createAnthropic(transport: Transport, now: () => number): Adapter {
  const protocol = anthropicProtocol(now)
  return { ...createNative(protocol, transport), completions: anthropicCompletions(transport, now, protocol.decoder) }
}

export function anthropicProtocol(now: () => number): NativeProtocol {
  return {
    name: 'anthropic',
    supportedParameters: ANTHROPIC_PARAMETERS,
    request: anthropicRequest,
    reader: (call) => {
      const format = askedFormat(call)
      const answerTool = format.kind === 'tool' ? format.tool.name : null
      return new AnthropicReader(
        { generationId: call.generationId, answerTool, hidesReasoning: hidesReasoning(call.request.parameters) },
        now,
      )
    },
    decoder: ({ message, error }) => new SseDecoder({ event: message, errorLine: error }),
  }
}

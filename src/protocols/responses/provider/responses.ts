import type { Adapter } from '../../ports/adapter.ts'
import { askEvents, sseMessages } from '../../upstream/events.ts'
import type { Transport } from '../../wire/transport.ts'
import { ResponsesReader } from './reader.ts'
import { responsesRequest } from './request.ts'

/** OpenAI's Responses protocol, which other providers speak too. */
export function openaiResponses(transport: Transport): NonNullable<Adapter['responses']> {
  return (call, sink) =>
    askEvents(
      transport,
      { endpoint: call.endpoint, streaming: call.request.chat.stream },
      {
        request: () => responsesRequest(call),
        reader: () => new ResponsesReader(call.generationId, call.endpoint.provider.slug),
        decoder: sseMessages,
      },
      sink,
    )
}

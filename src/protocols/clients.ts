import type { ClientProtocol } from '../base/client-protocol.ts'
import { ANTHROPIC } from './anthropic/client/calls.ts'
import { COHERE } from './cohere/client/calls.ts'
import { GEMINI } from './gemini/client/calls.ts'
import { OLLAMA } from './ollama/client/calls.ts'
import { RESPONSES } from './responses/client/calls.ts'
import type { ClientSide } from './ports/client-call.ts'

/** The protocols of clients other than OpenAI's. */
export const CLIENTS: Readonly<Partial<Record<ClientProtocol, ClientSide>>> = {
  responses: RESPONSES,
  anthropic: ANTHROPIC,
  gemini: GEMINI,
  cohere: COHERE,
  ollama: OLLAMA,
}

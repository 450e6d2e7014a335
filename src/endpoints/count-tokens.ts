import type { Principal } from '../access/principal.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Call, Reply, Route } from '../http/edge.ts'
import type { ChatRequest } from '../kinds/chat/request.ts'
import { parseCountedMessages } from '../kinds/messages/parse.ts'
import type { RequestType } from '../model-types.ts'
import { chooseModels } from '../plan/model-choice.ts'
import type { TokenCounter } from '../plan/token-count.ts'
import { principalOf } from './account.ts'

export interface CountPorts {
  readonly catalog: Catalog
  readonly tokens: Pick<TokenCounter, 'countChat'>
}

/** `POST /v1/messages/count_tokens`: our own count, which costs nothing (clients.md 2). */
export function countTokensRoutes(ports: CountPorts): readonly Route<Principal>[] {
  return [
    {
      method: 'POST',
      path: '/v1/messages/count_tokens',
      plane: 'key',
      body: 'json',
      priority: 'low',
      handle: (call): Reply => ({
        status: 200,
        body: { input_tokens: inputTokens(ports, call, parseCountedMessages(call.json), 'messages') },
      }),
    },
  ]
}

/** Tokens of a request as its model counts them; the model is chosen as for an answer, and refused alike. */
export function inputTokens(
  { catalog, tokens }: CountPorts,
  call: Call<Principal>,
  request: ChatRequest,
  type: RequestType,
): number {
  const { defaultModel, allowedModels } = principalOf(call)
  const { model, fallbackModels } = request
  const [chosen] = chooseModels({ model, fallbackModels, defaultModel, allowedModels, type }, catalog.current())
  return tokens.countChat(request, chosen?.model.tokenizer ?? null)
}

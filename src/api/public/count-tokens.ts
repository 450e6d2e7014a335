import type { Principal } from '../../access/principal.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { Call, Reply, Route } from '../../http/edge.ts'
import type { ChatRequest } from '../../kinds/chat/request.ts'
import { PROMPT_MEMBERS } from '../../kinds/fields/outward-names.ts'
import { CLIENTS } from '../../protocols/clients.ts'
import type { RequestType } from '../../tables/model-types.ts'
import { chooseModels } from '../../pay/plan/model-choice.ts'
import type { TokenCounter } from '../../pay/plan/token-count.ts'
import { principalOf } from './account.ts'

export interface CountPorts {
  readonly catalog: Catalog
  readonly tokens: Pick<TokenCounter, 'countChat'>
}

const PLANE = { method: 'POST', plane: 'key', body: 'json', priority: 'low', prompts: PROMPT_MEMBERS } as const

/** Our own count of a request's input, free of charge (clients.md 2 and 4). */
export function countTokensRoutes(ports: CountPorts): readonly Route<Principal>[] {
  const counts = Object.values(CLIENTS).flatMap(({ count }) => count ?? [])
  return counts.flatMap(({ paths, protocol, type, read, write }) =>
    paths.map((path): Route<Principal> => ({
      ...PLANE,
      path,
      ...(protocol === undefined ? {} : { protocol }),
      handle: (call): Reply => ({ status: 200, body: write(inputTokens(ports, call, read(call), type)) }),
    })),
  )
}

/** The input tokens of a request; its model is chosen, or refused, as for an answer. */
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

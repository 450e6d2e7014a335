import type { Model } from '../../catalog/catalog.ts'
import {
  moderationBody,
  type ModerationAnswer,
  hasImage,
  textsOf,
  type ModerationRequest,
} from '../../kinds/moderations.ts'
import type { Usage } from '../../tables/meters.ts'
import { itemTokensExceeded } from '../plan/context-check.ts'
import { checkModalities } from '../plan/model-choice.ts'
import type { PlanInput } from '../plan/plan.ts'
import { countedReport } from '../plan/usage-bounds.ts'
import type { AdapterTable } from '../../protocols/ports/adapter.ts'
import type { Operation } from '../relay/operation.ts'
import { unitOperation } from './unit.ts'
import type { UnitKind } from './unit-kind.ts'

/** The same for every request. */
const USAGE: Usage = { request: 1 }
const REPORT = { ...countedReport(0, 0), usage: USAGE }

/** Judges texts and images (clients.md 6), at a price for each request. */
export function moderationOperations(adapters: AdapterTable): (request: ModerationRequest) => Operation {
  const kind = moderationKind(adapters)
  return (request) => unitOperation(request, kind)
}

function moderationKind(adapters: AdapterTable): UnitKind<ModerationRequest, ModerationAnswer> {
  return {
    type: 'moderation',
    sent: () => [],
    check: checkInput,
    able: (_request, { provider }) => adapters.get(provider.adapter)?.moderations !== undefined,
    worstUsage: () => USAGE,
    mayExceed: () => false,
    ask: (adapter, call, sink) => {
      if (adapter.moderations === undefined)
        throw new Error(`Adapter '${adapter.name}' has no moderations: the plan lets only those through that have.`)
      return adapter.moderations(call, sink)
    },
    isEmpty: ({ results }) => results.length === 0,
    upstreamId: ({ upstreamId }) => upstreamId,
    measured: () => ({ report: REPORT, reported: REPORT, flagged: false, basis: 'provider_usage' }),
    body: (_request, answer, identity, { chargedMicro }) => ({ body: moderationBody(answer, identity, chargedMicro) }),
  }
}

function checkInput(request: ModerationRequest, model: Model, tokens: PlanInput['tokens']): void {
  checkModalities(model, { inputModalities: new Set(hasImage(request) ? ['image'] : []) })
  const { contextLength } = model
  const longer = contextLength === null ? null : tokens.findLonger(textsOf(request), contextLength, model.tokenizer)
  if (contextLength !== null && longer !== null)
    throw itemTokensExceeded(model, contextLength, longer.tokens, longer.index)
}

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
import { checkModalities, WITH_IMAGES } from '../plan/model-choice.ts'
import type { PlanInput } from '../plan/plan.ts'
import { withUnits } from '../plan/usage-bounds.ts'
import { moderationSides } from '../../protocols/moderations.ts'
import { parseModeration } from '../../protocols/openai/client/moderations.ts'
import type { AdapterPorts, AdapterTable } from '../../protocols/ports/adapter.ts'
import type { RequestReader } from '../paid-room.ts'
import { servedBy, unitOperation, type UnitKind } from './unit.ts'

/** Every request has the same usage. */
const USAGE: Usage = { request: 1 }
const REPORT = withUnits(USAGE, null)

/** Judges texts and images (clients.md 6), at a price for each request. */
export function moderationReader(adapters: AdapterTable, upstream: AdapterPorts): RequestReader {
  const kind = moderationKind(adapters, moderationSides(upstream))
  return { body: 'json', read: ({ json }) => unitOperation(parseModeration(json), kind) }
}

function moderationKind(
  adapters: AdapterTable,
  sides: ReturnType<typeof moderationSides>,
): UnitKind<ModerationRequest, ModerationAnswer> {
  return {
    type: 'moderation',
    sent: () => [],
    check: checkInput,
    ...servedBy(adapters, 'moderations', ({ name }) => sides.get(name)),
    worstUsage: () => USAGE,
    isEmpty: ({ results }) => results.length === 0,
    measured: () => ({ report: REPORT, reported: REPORT, flagged: false, basis: 'provider_usage' }),
    body: (_request, answer, identity, { chargedMicro }) => ({ body: moderationBody(answer, identity, chargedMicro) }),
  }
}

function checkInput(request: ModerationRequest, model: Model, tokens: PlanInput['tokens']): void {
  if (hasImage(request)) checkModalities(model, WITH_IMAGES)
  const { contextLength } = model
  const longer = contextLength === null ? null : tokens.findLonger(textsOf(request), contextLength, model.tokenizer)
  if (contextLength !== null && longer !== null)
    throw itemTokensExceeded(model, contextLength, longer.tokens, longer.index)
}

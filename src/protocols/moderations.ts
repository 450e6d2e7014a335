import type { ModerationAnswer, ModerationRequest } from '../kinds/moderations.ts'
import { openaiModerations } from './openai/provider/moderations.ts'
import type { AdapterPorts } from './ports/adapter.ts'
import type { AskUnit } from './ports/call.ts'
import { sandboxModerations } from './sandbox/moderations.ts'

type AskModerations = AskUnit<ModerationRequest, ModerationAnswer>

const SIDES: Readonly<Record<string, (ports: AdapterPorts) => AskModerations>> = {
  openai: openaiModerations,
  sandbox: sandboxModerations,
}

/** How the adapters that can judge are asked, by their names. */
export function moderationSides(ports: AdapterPorts): ReadonlyMap<string, AskModerations> {
  return new Map(Object.entries(SIDES).map(([name, open]) => [name, open(ports)]))
}

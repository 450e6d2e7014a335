import {
  hasImage,
  textsOf,
  type ModerationAnswer,
  type ModerationRequest,
  type ModerationResult,
} from '../../kinds/moderations.ts'
import type { AdapterPorts } from '../ports/adapter.ts'
import type { AskUnit } from '../ports/call.ts'
import { plainText, readScript, resultOnce, scriptedText, type SandboxScript } from './script.ts'

/** The categories of OpenAI. */
const CATEGORIES = (
  'harassment harassment/threatening hate hate/threatening illicit illicit/violent self-harm self-harm/intent ' +
  'self-harm/instructions sexual sexual/minors violence violence/graphic'
).split(' ')

/** Only the beginning of a text is judged. */
const JUDGED_CHARS_MAX = 2_000

export function sandboxModerations({ clock }: AdapterPorts): AskUnit<ModerationRequest, ModerationAnswer> {
  return ({ request }, sink) => {
    const script = readScript(scriptedText(textsOf(request)))
    return resultOnce(script, clock, sink, () => sandboxModeration(request, script))
  }
}

/** Flags each text for the categories that it names, so that a test knows the result beforehand. */
function sandboxModeration(request: ModerationRequest, script: SandboxScript): ModerationAnswer {
  const texts = textsOf(request)
  const judged = request.input.type === 'texts' ? texts : [texts.join('\n')]
  const types = [...(texts.length > 0 ? ['text'] : []), ...(hasImage(request) ? ['image'] : [])]
  return { results: script.words === 0 ? [] : judged.map((text) => resultOf(text, types)), upstreamId: null }
}

function resultOf(text: string, types: readonly string[]): ModerationResult {
  const said = plainText(text).slice(0, JUDGED_CHARS_MAX).toLowerCase()
  const found = CATEGORIES.map((name) => [name, said.includes(name)] as const)
  return {
    flagged: found.some(([, flagged]) => flagged),
    categories: Object.fromEntries(found),
    category_scores: Object.fromEntries(found.map(([name, flagged]) => [name, flagged ? 1 : 0])),
    category_applied_input_types: Object.fromEntries(CATEGORIES.map((name) => [name, types])),
  }
}

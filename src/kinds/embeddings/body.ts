import { rubles } from '../../base/money.ts'
import type { ChargedUsage } from '../answer/writer.ts'
import type { ChunkIdentity } from '../chat/answer.ts'

/** The JSON body of wire.md D-2.1 in parts: the vectors are most of it, and need not be copied. */
export function embeddingsBody(
  { id, model }: ChunkIdentity,
  vectors: readonly Buffer[],
  { report, chargedMicro }: ChargedUsage,
): readonly Buffer[] {
  const usage = {
    prompt_tokens: report.inputTokens,
    total_tokens: report.inputTokens,
    cost: rubles(chargedMicro),
    currency: 'RUB',
  }
  const parts: Buffer[] = [
    Buffer.from(`{"id":${JSON.stringify(id)},"object":"list","model":${JSON.stringify(model)},"data":[`),
  ]
  for (const [index, vector] of vectors.entries())
    parts.push(Buffer.from(`${index === 0 ? '' : '},'}{"object":"embedding","index":${index},"embedding":`), vector)
  parts.push(Buffer.from(`}],"usage":${JSON.stringify(usage)}}`))
  return parts
}

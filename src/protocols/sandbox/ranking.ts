import type { UsageReport } from '../../kinds/chat/answer.ts'
import { inputUsage } from '../../kinds/answer/usage.ts'
import type { RerankAnswer, RerankRequest } from '../../kinds/rerank.ts'
import { textTokens } from './answer.ts'
import { plainText, type SandboxScript } from './script.ts'

const DOCUMENTS_PER_UNIT = 100
/** Only the beginning of a document is ranked. */
const RANKED_CHARS_MAX = 2_000

/**
 * Ranks documents by the fraction of the query's words that each contains. The ranking depends only on the texts, so
 * that a test can know it beforehand.
 */
export function sandboxRanking({ query, documents }: RerankRequest, script: SandboxScript): RerankAnswer {
  const wanted = wordsOf(plainText(query))
  const scoreOf = (document: string): number => {
    const words = wordsOf(document)
    return wanted.size === 0 ? 0 : [...wanted].filter((word) => words.has(word)).length / wanted.size
  }
  return {
    results: script.words === 0 ? [] : documents.map((document, index) => ({ index, score: scoreOf(document) })),
    usage: usageOf(query, documents),
    upstreamId: null,
  }
}

function wordsOf(text: string): Set<string> {
  return new Set(
    text
      .slice(0, RANKED_CHARS_MAX)
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu),
  )
}

function usageOf(query: string, documents: readonly string[]): UsageReport | null {
  const searches = Math.ceil(documents.length / DOCUMENTS_PER_UNIT)
  return inputUsage({
    tokens: documents.reduce((sum, document) => sum + textTokens(document), textTokens(query)),
    searches,
  })
}

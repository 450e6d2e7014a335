import { ANTHROPIC_DOCS } from '../../protocols/anthropic/client/routes.ts'
import { COHERE_DOCS } from '../../protocols/cohere/client/routes.ts'
import { GEMINI_DOCS } from '../../protocols/gemini/client/routes.ts'
import { RESPONSES_DOCS } from '../../protocols/responses/client/routes.ts'
import { OLLAMA_DOCS } from '../../protocols/ollama/client/routes.ts'
import type { ClientDocs } from '../../protocols/ports/client-docs.ts'

const DOCS: Readonly<Record<string, ClientDocs>> = {
  responses: RESPONSES_DOCS,
  anthropic: ANTHROPIC_DOCS,
  gemini: GEMINI_DOCS,
  cohere: COHERE_DOCS,
  ollama: OLLAMA_DOCS,
}

/** The documents of the clients' protocols other than OpenAI's. */
export const CLIENT_DOCS: readonly ClientDocs[] = Object.values(DOCS)

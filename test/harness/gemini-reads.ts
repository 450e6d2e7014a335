import { readsOf, type ProtocolRead } from './protocol-read.ts'
import { geminiProtocol } from '../../src/protocols/gemini/provider/gemini.ts'

export const PROTOCOL = geminiProtocol

export const { callOf, read, whole, foldWhole } = readsOf(PROTOCOL, 'gemini-2.5-flash')

export function readChunks(chunks: readonly unknown[], call = callOf()): ProtocolRead {
  return read([Buffer.from(chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\r\n\r\n`).join(''))], call)
}

export function parts(...given: readonly unknown[]): { readonly candidates: readonly unknown[] } {
  return { candidates: [{ content: { role: 'model', parts: given }, index: 0 }] }
}

export const STOP = {
  candidates: [{ finishReason: 'STOP', index: 0 }],
  usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 2 },
}

import type { Adapter } from '../adapter.ts'
import { createNative, type NativeProtocol } from '../native.ts'
import { reasoningWish } from '../reasoning-wish.ts'
import type { Transport } from '../transport.ts'
import { CohereDecoder } from './decoder.ts'
import { COHERE_PARAMETERS } from './parameters.ts'
import { CohereReader } from './reader.ts'
import { cohereRequest } from './request.ts'

/**
 * Cohere's v2 chat. Requests of the first chat protocol are not written, because every model that still runs answers the
 * newer one; its answers are read all the same.
 */
export function createCohere(transport: Transport, now: () => number): Adapter {
  return createNative(cohereProtocol(now), transport)
}

export function cohereProtocol(now: () => number): NativeProtocol {
  return {
    name: 'cohere',
    supportedParameters: COHERE_PARAMETERS,
    request: cohereRequest,
    reader: ({ generationId, request }) => new CohereReader({ generationId, hidesReasoning: reasoningWish(request.parameters).isHidden }, now),
    decoder: (events) => new CohereDecoder(events),
  }
}

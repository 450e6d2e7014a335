import type { Clock } from '../lib/clock.ts'
import type { Adapter, AdapterTable } from './adapter.ts'
import { createCohere } from './cohere/cohere.ts'
import { createOllama } from './ollama/ollama.ts'
import { createOpenai } from './openai.ts'
import { createSandbox } from './sandbox.ts'
import { createTransport } from './transport.ts'

/** Every wire protocol there is, by the name the catalogue gives it. */
export function createAdapters({ clock }: { readonly clock: Clock }): { readonly adapters: AdapterTable; close(): Promise<void> } {
  const transport = createTransport({ clock })
  const now = (): number => clock.now()
  const adapters: readonly Adapter[] = [createOpenai(transport, now), createCohere(transport, now), createOllama(transport, now), createSandbox(clock)]
  return { adapters: new Map(adapters.map((adapter) => [adapter.name, adapter])), close: () => transport.close() }
}

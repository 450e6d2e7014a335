import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { LoadOrder, LoadResult } from './load.ts'
import { onCore } from './pinning.ts'
import type { Scenario } from './scenarios.ts'
import type { Server } from './servers.ts'

/** Runs the load in a process of its own, on the core that is reserved for it. */
export async function load(order: LoadOrder): Promise<LoadResult> {
  const child = spawn(...onCore('other', process.execPath, [join(import.meta.dirname, 'load.ts')]), {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const closed = Promise.withResolvers<number | null>()
  child.once('close', closed.resolve)
  child.stdin.end(JSON.stringify(order))
  const told = await text(child.stdout)
  const code = await closed.promise
  if (code !== 0) throw new Error(`The load generator ended with ${code}.`)
  // bench/load.ts wrote it.
  return JSON.parse(told) as LoadResult
}

/** The load that a scenario puts on a server. */
export function orderOf(server: Server, scenario: Scenario, keys: readonly string[], seconds: number): LoadOrder {
  const { model, client, prompt, steps, clients } = scenario
  const { origin, headers = {} } = server
  return {
    origin,
    headers,
    model: server.model(model),
    ask: asks(model),
    client,
    prompt,
    steps,
    clients,
    seconds,
    keys,
  }
}

function asks(model: Scenario['model']): LoadOrder['ask'] {
  if (model === 'voice') return 'speech'
  if (model === 'vectors') return 'embeddings'
  return model === 'plain' || model === 'reasoned' ? 'chat' : 'stream'
}

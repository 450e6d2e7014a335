import type { Clock } from '../../base/clock.ts'
import type { IdSource } from '../../base/ids.ts'
import type { Shared } from '../shared.ts'
import { connectValkey, type ValkeyPorts } from './client.ts'
import { ValkeyGuard, ValkeyKeyLimits, ValkeyTokens, ValkeyWindows } from './limits.ts'
import { NodeCipher } from './node-cipher.ts'
import { RemoteStreams, ValkeyCopy } from './remote-streams.ts'
import { StreamMessages } from './stream-messages.ts'

export interface ValkeyOptions {
  /** As `valkeyAddress` reads it; null = there is none. */
  readonly valkeyUrl: string | null
  /** The longest wait for an answer, ms. */
  readonly valkeyTimeoutMs: number
  /** This process among the others. */
  readonly node: string
  /** The same on every node; the first encrypts what is shared, every key decrypts. */
  readonly cipherKeys: readonly Buffer[]
  readonly clock: Clock
  readonly ids: IdSource
  /** One sentence for the operator. */
  readonly notice: (message: string) => void
}

/** What nodes share through Valkey; null = there is none. */
export async function openValkey(options: ValkeyOptions): Promise<Shared | null> {
  const { valkeyUrl: url, valkeyTimeoutMs: timeoutMs, cipherKeys } = options
  if (url === null) return null
  const valkey = await connectValkey({ ...options, url, timeoutMs })
  const ports: ValkeyPorts = { ...options, valkey, cipher: new NodeCipher(cipherKeys) }
  const messages = new StreamMessages(ports)
  return {
    windows: new ValkeyWindows(ports),
    guard: new ValkeyGuard(ports),
    keyLimits: new ValkeyKeyLimits(ports),
    tokens: new ValkeyTokens(ports),
    copyStream: (stream) => new ValkeyCopy(ports, stream),
    streams: new RemoteStreams(ports, messages),
    messages,
    start: async ({ tellWindows, findStream }) => {
      await valkey.start()
      valkey.onReturn = tellWindows
      messages.start(findStream)
    },
    stop: async () => {
      messages.close()
      await valkey.close()
    },
  }
}

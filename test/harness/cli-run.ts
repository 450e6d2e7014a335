import { openCore } from '../../src/app/core.ts'
import { runCommand } from '../../src/cli/run-command.ts'
import { parseWrappingKeys } from '../../src/ledger/key-wrap.ts'
import { systemClock } from '../../src/base/clock.ts'
import { randomIds } from '../../src/base/ids.ts'
import { adaptersNamed } from './adapters-named.ts'

/** As in `TOLLGATE_KEK`. */
export const KEK = Buffer.alloc(32, 'k').toString('base64')

export interface Outcome {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Runs a command of the program in this process. */
export async function runCli(argv: readonly string[], env: Record<string, string> = {}): Promise<Outcome> {
  const out: string[] = []
  const err: string[] = []
  const code = await runCommand(argv, {
    version: '1.2.3',
    env,
    secretFileProblems: [],
    clock: systemClock,
    ids: randomIds(),
    adapters: adaptersNamed('openai', 'sandbox'),
    stdout: (text) => out.push(text),
    stderr: (text) => err.push(text),
    start: async () => 0,
    open: (config) => openCore({ config, env, wrappingKeys: config.kek ?? parseWrappingKeys(KEK) ?? [] }),
  })
  return { code, out: out.join('\n'), err: err.join('\n') }
}

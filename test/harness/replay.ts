import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const SHARED = join(import.meta.dirname, '../../../shared')
const TOOL = join(SHARED, 'tools/replay-upstream.mjs')
const FIXTURES = join(SHARED, 'fixtures/upstream')

export interface ExpectedChoice {
  readonly index: number
  readonly text: string | null
  readonly reasoning: string | null
  readonly refusal: string | null
  readonly tool_calls: readonly { readonly id: string | null; readonly name: string; readonly arguments: string }[]
  readonly finish_reason: string | null
  readonly finish_reason_native: string | null
}

export interface CaseMeta {
  readonly protocol: string
  readonly streaming: boolean
  readonly status: number
  readonly body_file: string
  readonly expected: {
    readonly choices?: readonly ExpectedChoice[]
    readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number; readonly cached_tokens?: number; readonly reasoning_tokens?: number } | null
    readonly stream_error?: unknown
    readonly error?: { readonly status: number; readonly message: string | null }
    /** Of speech. */
    readonly bytes?: number
    readonly sha256?: string
    /** Of transcripts. */
    readonly text?: string
    readonly language?: string
    readonly duration?: number
    readonly segments?: number
    readonly words?: number
    readonly usage_native?: Readonly<Record<string, unknown>>
  }
}

export interface RecordedCase {
  readonly name: string
  readonly dir: string
  readonly meta: CaseMeta
}

export interface Replay {
  readonly url: string
  readonly cases: readonly RecordedCase[]
  /** Programs the answers of `<url>/slot/<name>`. */
  slot(name: string, queue: readonly { readonly case: string; readonly opts?: Readonly<Record<string, string | number>> }[]): Promise<void>
  requests(): Promise<readonly { readonly slot: string | null; readonly body: string; readonly json: unknown; readonly outcome: string; readonly headers: Record<string, string> }[]>
  close(): Promise<void>
}

/** The recorded provider traffic beside the project, served by its replay server. Its absence fails loudly. */
export async function startReplayUpstream(): Promise<Replay> {
  if (!existsSync(TOOL) || !existsSync(FIXTURES)) throw new Error('The recorded provider cases are missing: ../shared must stand beside the project.')
  const { startReplay, loadCases } = await import(pathToFileURL(TOOL).href)
  const upstream = await startReplay({ dirs: [FIXTURES] })
  const loaded: ReadonlyMap<string, { dir: string; meta: CaseMeta }> = loadCases([FIXTURES])
  const control = async (path: string, init: RequestInit): Promise<unknown> => {
    const answer = await fetch(`${upstream.url}${path}`, init)
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}`)
    return answer.json()
  }
  return {
    url: upstream.url,
    cases: [...loaded].map(([name, { dir, meta }]) => ({ name, dir, meta })),
    slot: async (name, queue) => {
      await control(`/__slot/${name}`, { method: 'POST', body: JSON.stringify({ queue }) })
    },
    // The replay server's own documented answer.
    requests: async () => (await control('/__requests', {})) as Awaited<ReturnType<Replay['requests']>>,
    close: () => upstream.close(),
  }
}

/** The raw body of a recorded case. */
export function bodyPath({ dir, meta }: RecordedCase): string {
  return join(dir, meta.body_file)
}

import type { KnownAdapters } from '../catalog/catalog.ts'
import type { CatalogService } from '../catalog/catalog-service.ts'
import type { ModelEntry } from '../catalog/document.ts'
import type { Config } from '../app/config.ts'
import type { KeyWrap } from '../ledger/key-wrap.ts'
import type { Clock } from '../base/clock.ts'
import type { IdSource } from '../base/ids.ts'
import type { AuditCheck } from '../store/audit/audit-store.ts'
import type { Store } from '../store/store.ts'

/** The store and its catalogue, opened for one command. */
export interface OpenStore {
  readonly store: Store
  readonly catalog: CatalogService
  readonly keyWrap: KeyWrap
  audit(sinceMs: number): Promise<readonly AuditCheck[]>
  replay(fromMs: number, toMs: number): ReturnType<Store['audit']['replay']>
  /** Encrypts every secret with the first wrapping key; resolves to their number. */
  rewrap(): Promise<number>
  close(): Promise<void>
}

/** Everything that commands get from the process. */
export interface CliPorts {
  readonly version: string
  /** The process's environment, with `.env` and the secrets of files filled in. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** One line for each secret whose file cannot be used. */
  readonly secretFileProblems: readonly string[]
  /** Each call writes one line or text with its line end. */
  readonly stdout: (text: string) => void
  readonly stderr: (text: string) => void
  readonly clock: Clock
  readonly ids: IdSource
  /** Adapter names that a catalogue file may use. */
  readonly adapters: KnownAdapters
  /** Throws StoreBusyError when another process has the embedded store open. */
  readonly open: (config: Config) => Promise<OpenStore>
  /** Reads the published lists of models (docs/decisions/0019-catalogue-sources.md); absent = this program cannot. */
  readonly fetchLists?: (
    addresses: Config['dataSet'],
    of: { readonly ids: ReadonlyMap<string, string>; readonly nowMs: number; readonly stop: AbortSignal },
  ) => Promise<readonly ModelEntry[]>
  /** Resolves to 0 when the server listens; the process then lives as long as the server. */
  readonly start: () => Promise<number>
}

export interface CliContext extends CliPorts {
  readonly config: Config
  /** One line for each malformed setting; it begins with the variable's name. */
  readonly configProblems: readonly string[]
  /** One line for each variable that is probably a mistyped setting. */
  readonly unknownSettings: readonly string[]
}

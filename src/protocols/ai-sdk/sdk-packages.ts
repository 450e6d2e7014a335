import type {
  EmbeddingModelV4,
  ImageModelV4,
  LanguageModelV4,
  RerankingModelV4,
  SpeechModelV4,
  TranscriptionModelV4,
} from '@ai-sdk/provider'
import type { Endpoint } from '../../catalog/catalog.ts'
import type { UnitCall } from '../ports/call.ts'
import { objectOf } from '../wire/raw-json.ts'

/** The version of models that this adapter can use; every package states its version. */
const SPECIFICATION = 'v4'

/** Settings that the create… function of every package takes. */
export interface SdkSettings {
  /** Empty = the provider needs none; without a value a package would read the environment. */
  readonly apiKey: string
  readonly baseURL: string
  readonly fetch: typeof globalThis.fetch
}

export function settingsOf(
  { endpoint, apiKey }: Pick<UnitCall<unknown>, 'endpoint' | 'apiKey'>,
  fetch: SdkSettings['fetch'],
): SdkSettings {
  return { apiKey: apiKey ?? '', baseURL: endpoint.provider.baseUrl, fetch }
}

/** The package's name for its provider, under which it reads options of its own. */
export function ownName({ provider }: { readonly provider: string }): string {
  return provider.split('.', 1)[0] ?? ''
}

type Factory = (settings: SdkSettings) => unknown

/** The models that a package may make, by the AI SDK's words for their kinds. */
export interface SdkModels {
  readonly language: LanguageModelV4
  readonly embedding: EmbeddingModelV4
  readonly reranking: RerankingModelV4
  readonly image: ImageModelV4
  readonly speech: SpeechModelV4
  readonly transcription: TranscriptionModelV4
}

/** The methods of a package that make models of a kind, newer name first, and the methods of such a model. */
const FORMS: Readonly<
  Record<keyof SdkModels, { readonly makers: readonly string[]; readonly does: readonly string[] }>
> = {
  language: { makers: ['languageModel'], does: ['doGenerate', 'doStream'] },
  embedding: { makers: ['embeddingModel', 'textEmbeddingModel'], does: ['doEmbed'] },
  reranking: { makers: ['rerankingModel'], does: ['doRerank'] },
  image: { makers: ['imageModel', 'image'], does: ['doGenerate'] },
  speech: { makers: ['speechModel', 'speech'], does: ['doGenerate'] },
  transcription: { makers: ['transcriptionModel', 'transcription'], does: ['doGenerate'] },
}

/** The packages that the catalogue names; each is loaded with its first request. */
export class SdkPackages {
  readonly #loaded = new Map<string, Promise<Readonly<Record<string, unknown>>>>()

  /**
   * A new provider is made for each call, since its settings hold the call's key and connection. This costs a few
   * closures.
   */
  async model<Kind extends keyof SdkModels>(
    kind: Kind,
    { provider, upstreamModel }: Endpoint,
    settings: SdkSettings,
  ): Promise<SdkModels[Kind]> {
    const { name, factory } = provider.sdkPackage ?? { name: '', factory: null }
    const { makers, does } = FORMS[kind]
    const made = factoryOf(await this.#load(name), name, factory)(settings)
    const models: unknown = makers
      .map((method): unknown =>
        typeof made === 'function' || objectOf(made) !== null ? Reflect.get(Object(made), method) : undefined,
      )
      .find((method) => typeof method === 'function')
    if (typeof models !== 'function') throw new Error(`${name} makes no ${kind} models`)
    const model = objectOf(Reflect.apply(models, made, [upstreamModel]))
    if (
      model?.['specificationVersion'] !== SPECIFICATION ||
      !does.every((method) => typeof model[method] === 'function')
    )
      throw new Error(`${name} is not of specification ${SPECIFICATION} of the AI SDK: install another version of it`)
    // It has the version and the methods of its kind.
    return model as unknown as SdkModels[Kind]
  }

  #load(name: string): Promise<Readonly<Record<string, unknown>>> {
    let loaded = this.#loaded.get(name)
    if (loaded === undefined) {
      // oxlint-disable-next-line import/no-dynamic-require -- a package that the catalogue names, of one namespace
      loaded = import(name).catch((thrown: unknown) => {
        // Forgotten, so that a package can be installed while the server runs.
        this.#loaded.delete(name)
        throw thrown
      })
      this.#loaded.set(name, loaded)
    }
    return loaded
  }
}

/** The named export, or the only one whose name begins with `create`. */
export function factoryOf(exported: Readonly<Record<string, unknown>>, name: string, factory: string | null): Factory {
  const candidates = Object.keys(exported).filter(
    (key) => (factory === null ? /^create[A-Z]/.test(key) : key === factory) && typeof exported[key] === 'function',
  )
  const [only] = candidates
  if (only === undefined) throw new Error(`${name} exports no function ${factory ?? 'create…'}`)
  if (candidates.length > 1)
    throw new Error(`${name} exports ${candidates.join(', ')}: the provider's row must name one of them as factory`)
  // The filter above leaves only functions; their result is checked before it is used.
  return exported[only] as Factory
}

import type {
  EmbeddingModelV4,
  ImageModelV4,
  LanguageModelV4,
  RerankingModelV4,
  SpeechModelV4,
  TranscriptionModelV4,
} from '@ai-sdk/provider'
import type { Provider } from '../../catalog/catalog.ts'
import { objectOf } from '../wire/raw-json.ts'

/** The version of model that this adapter can use; every package states its own. */
const SPECIFICATION = 'v4'

/** Settings that every package's create… function takes. */
export interface SdkSettings {
  /** Empty where the provider needs none; without a value a package would read the environment. */
  readonly apiKey: string
  readonly baseURL: string
  readonly fetch: typeof globalThis.fetch
}

type Factory = (settings: SdkSettings) => unknown

/** How a package makes models of one kind, newer name first. */
interface ModelForm<Model> {
  readonly methods: readonly string[]
  readonly plural: string
  readonly isModel: (value: unknown) => value is Model
}

/** The packages that the catalogue names; each is loaded with its first request. */
export class SdkPackages {
  readonly #loaded = new Map<string, Promise<Readonly<Record<string, unknown>>>>()

  async model(provider: Provider, modelId: string, settings: SdkSettings): Promise<LanguageModelV4> {
    return this.#made(provider, modelId, settings, {
      methods: ['languageModel'],
      plural: 'language models',
      isModel: isLanguageModel,
    })
  }

  async embeddingModel(provider: Provider, modelId: string, settings: SdkSettings): Promise<EmbeddingModelV4> {
    return this.#made(provider, modelId, settings, {
      methods: ['embeddingModel', 'textEmbeddingModel'],
      plural: 'embedding models',
      isModel: isEmbeddingModel,
    })
  }

  async rerankingModel(provider: Provider, modelId: string, settings: SdkSettings): Promise<RerankingModelV4> {
    return this.#made(provider, modelId, settings, {
      methods: ['rerankingModel'],
      plural: 'reranking models',
      isModel: isRerankingModel,
    })
  }

  async imageModel(provider: Provider, modelId: string, settings: SdkSettings): Promise<ImageModelV4> {
    return this.#made(provider, modelId, settings, {
      methods: ['imageModel', 'image'],
      plural: 'image models',
      isModel: isImageModel,
    })
  }

  async speechModel(provider: Provider, modelId: string, settings: SdkSettings): Promise<SpeechModelV4> {
    return this.#made(provider, modelId, settings, {
      methods: ['speechModel', 'speech'],
      plural: 'speech models',
      isModel: isSpeechModel,
    })
  }

  async transcriptionModel(provider: Provider, modelId: string, settings: SdkSettings): Promise<TranscriptionModelV4> {
    return this.#made(provider, modelId, settings, {
      methods: ['transcriptionModel', 'transcription'],
      plural: 'transcription models',
      isModel: isTranscriptionModel,
    })
  }

  /**
   * Makes a new provider for each call, since its settings hold the call's key and connection. It costs a few closures.
   */
  async #made<Model>(
    provider: Provider,
    modelId: string,
    settings: SdkSettings,
    { methods, plural, isModel }: ModelForm<Model>,
  ): Promise<Model> {
    const { name, factory } = provider.sdkPackage ?? { name: '', factory: null }
    const made = factoryOf(await this.#load(name), name, factory)(settings)
    const models: unknown = methods
      .map((method): unknown =>
        typeof made === 'function' || objectOf(made) !== null ? Reflect.get(Object(made), method) : undefined,
      )
      .find((method) => typeof method === 'function')
    if (typeof models !== 'function') throw new Error(`${name} makes no ${plural}`)
    const model: unknown = Reflect.apply(models, made, [modelId])
    if (!isModel(model))
      throw new Error(`${name} is not of specification ${SPECIFICATION} of the AI SDK: install another version of it`)
    return model
  }

  #load(name: string): Promise<Readonly<Record<string, unknown>>> {
    let loaded = this.#loaded.get(name)
    if (loaded === undefined) {
      // oxlint-disable-next-line import/no-dynamic-require -- a package that the catalogue names, of one namespace
      loaded = import(name).catch((thrown: unknown) => {
        // So that a package can be installed while we run.
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
  // The filter above leaves only functions; the result is checked before it is used.
  return exported[only] as Factory
}

function isLanguageModel(value: unknown): value is LanguageModelV4 {
  return isModelWith(value, ['doGenerate', 'doStream'])
}

function isEmbeddingModel(value: unknown): value is EmbeddingModelV4 {
  return isModelWith(value, ['doEmbed'])
}

function isRerankingModel(value: unknown): value is RerankingModelV4 {
  return isModelWith(value, ['doRerank'])
}

function isImageModel(value: unknown): value is ImageModelV4 {
  return isModelWith(value, ['doGenerate'])
}

function isSpeechModel(value: unknown): value is SpeechModelV4 {
  return isModelWith(value, ['doGenerate'])
}

function isTranscriptionModel(value: unknown): value is TranscriptionModelV4 {
  return isModelWith(value, ['doGenerate'])
}

function isModelWith(value: unknown, methods: readonly string[]): boolean {
  const model = objectOf(value)
  return (
    model !== null &&
    model['specificationVersion'] === SPECIFICATION &&
    methods.every((method) => typeof model[method] === 'function')
  )
}

import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { Provider } from '../../catalog/catalog.ts'
import { objectOf } from '../raw-json.ts'

/** The form of models that this adapter speaks; a package says which one it has. */
const SPECIFICATION = 'v4'

/** What the create… function of every package takes. */
export interface SdkSettings {
  /** Empty where the provider needs none: without one a package would look into the environment. */
  readonly apiKey: string
  readonly baseURL: string
  readonly fetch: typeof globalThis.fetch
}

type Factory = (settings: SdkSettings) => unknown

/** The packages that the catalogue names, each loaded when its first request comes. */
export class SdkPackages {
  readonly #loaded = new Map<string, Promise<Readonly<Record<string, unknown>>>>()

  /** A provider of its own for each call, since the settings hold the call's key and connection; that costs a few closures. */
  async model(provider: Provider, modelId: string, settings: SdkSettings): Promise<LanguageModelV4> {
    const { name, factory } = provider.sdkPackage ?? { name: '', factory: null }
    const made = factoryOf(await this.#load(name), name, factory)(settings)
    const models: unknown = typeof made === 'function' || objectOf(made) !== null ? Reflect.get(Object(made), 'languageModel') : undefined
    if (typeof models !== 'function') throw new Error(`${name} makes no language models`)
    const model: unknown = Reflect.apply(models, made, [modelId])
    if (!isLanguageModel(model)) throw new Error(`${name} is not of specification ${SPECIFICATION} of the AI SDK: install another version of it`)
    return model
  }

  #load(name: string): Promise<Readonly<Record<string, unknown>>> {
    let loaded = this.#loaded.get(name)
    if (loaded === undefined) {
      loaded = import(name).catch((thrown: unknown) => {
        // It may be installed while we run.
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
  const candidates = Object.keys(exported).filter((key) => (factory === null ? /^create[A-Z]/.test(key) : key === factory) && typeof exported[key] === 'function')
  const [only] = candidates
  if (only === undefined) throw new Error(`${name} exports no function ${factory ?? 'create…'}`)
  if (candidates.length > 1) throw new Error(`${name} exports ${candidates.join(', ')}: the provider's row must name one of them as factory`)
  // A function, by the filter above; what it makes is looked at before it is used.
  return exported[only] as Factory
}

function isLanguageModel(value: unknown): value is LanguageModelV4 {
  const model = objectOf(value)
  return model !== null && model['specificationVersion'] === SPECIFICATION && typeof model['doGenerate'] === 'function' && typeof model['doStream'] === 'function'
}

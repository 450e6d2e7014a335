import type { KnownAdapters, Provider } from './catalog.ts'
import { field, readFields, type EntryOf } from './entry-fields.ts'
import type { FieldReader } from './field-reader.ts'

/** The adapter whose providers name an AI SDK package. */
export const SDK_ADAPTER = 'ai-sdk'
/** Only packages of this scope: another package could be anybody's code, and would run with the operator's keys. */
const PACKAGE = /^@ai-sdk\/[a-z0-9][a-z0-9-]{0,63}$/
const FACTORY = /^create[A-Za-z0-9]{1,63}$/

/** The package to load, and its function that makes the provider. */
export const SDK_FIELDS = {
  package: field.text('For the adapter `ai-sdk`.'),
  factory: field.text('For the adapter `ai-sdk`.'),
}

/** Reads `package` and `factory` of a provider's entry, which only one adapter has. */
export function readSdkPackage(reader: FieldReader, adapter: string, known: KnownAdapters): EntryOf<typeof SDK_FIELDS> {
  const entry = readFields(reader, SDK_FIELDS)
  const { package: name, factory } = entry
  if (adapter !== SDK_ADAPTER) {
    for (const key of ['package', 'factory'])
      if (reader.has(key))
        reader.problem(key, 'other_adapter', { adapter: SDK_ADAPTER }, `belongs to adapter ${SDK_ADAPTER} alone`)
    return {}
  }
  // A package adds its key itself, so it cannot use a token of `auth`.
  if (reader.has('auth')) {
    const others = [...known.keys()].filter((one) => one !== SDK_ADAPTER).toSorted()
    const params = { adapter: others.join(', ') }
    reader.problem(
      'auth',
      'other_adapter',
      params,
      `is not for the adapter ${SDK_ADAPTER}: its packages take an api_key`,
    )
  }
  if (name === undefined) reader.problem('package', 'required', {}, 'is required: the @ai-sdk package to load')
  else {
    const problem = sdkPackageProblem(name)
    if (problem !== null) reader.problem('package', problem.check, { given: name }, problem.message)
  }
  if (factory !== undefined && !FACTORY.test(factory)) reader.problem('factory', 'factory_name', { given: factory })
  return entry
}

/** The reason why a package cannot be used; null = it can. Only looks for the package, and loads none of it. */
function sdkPackageProblem(
  name: string,
): { readonly check: 'sdk_package' | 'sdk_missing'; readonly message: string } | null {
  if (!PACKAGE.test(name))
    return {
      check: 'sdk_package',
      message: `must be a package of the AI SDK, @ai-sdk/<name>; no other is loaded, got '${name}'`,
    }
  try {
    import.meta.resolve(name)
    return null
  } catch {
    return { check: 'sdk_missing', message: `${name} is not installed; run in Tollgate's folder: npm install ${name}` }
  }
}

/** A line for every provider whose package has disappeared since its entry was accepted. */
export function missingSdkPackages(providers: Iterable<Provider>): readonly string[] {
  const lines: string[] = []
  for (const { slug, sdkPackage } of providers) {
    const problem = sdkPackage === undefined ? null : sdkPackageProblem(sdkPackage.name)
    if (problem !== null) lines.push(`providers.${slug}.package: ${problem.message}`)
  }
  return lines
}

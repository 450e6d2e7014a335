import type { Principal } from '../../access/principal.ts'
import type { CatalogDocument, ProviderEntry } from '../../catalog/document.ts'
import {
  parseDocumentJson,
  parseProviderJson,
  slugProblem,
  type DocumentContext,
} from '../../catalog/document-reader.ts'
import { fault, type Fault, type Problem } from '../../catalog/source-tree.ts'
import { modelsOf } from '../../catalog/bundle-changes.ts'
import { offeredModels } from '../../catalog/offered-models.ts'
import { ambientRefusal, authAddresses } from '../../catalog/auth.ts'
import { wireModel, wireProvider, type WireProvider } from '../../catalog/wire-document.ts'
import { addressOf } from '../../catalog/snapshot.ts'
import type { Route } from '../../http/edge.ts'
import { isPrivateAddress } from '../../base/public-address.ts'
import { ownValue } from '../../base/own-value.ts'
import { fieldError } from '../../base/refusals.ts'
import {
  adminReply,
  adminRoute,
  type AdminReply,
  recordChange,
  type AdminCall,
  type AdminPorts,
  type AdminAnswer,
} from './ports.ts'
import { recordRoutes, watched, type RecordKind } from './records.ts'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { CatalogFaults, problemText } from '../../catalog/catalog-check.ts'
import { ApiError } from '../../base/errors.ts'
import type { CatalogProblem } from './catalog-contract.ts'

/** Providers: trying one, making one with its models, and changing one. */
export function providerAdminRoutes(ports: AdminPorts, context: DocumentContext): readonly Route<Principal>[] {
  return [
    adminRoute('POST /admin/v1/providers/try', (call) => tryProvider(ports, call, context)),
    adminReply('POST /admin/v1/providers', (call) => connectProvider(ports, call, context)),
    ...recordRoutes(ports, providerKind(ports, context)),
  ]
}

async function tryProvider(
  ports: AdminPorts,
  call: AdminCall,
  context: DocumentContext,
): Promise<AdminAnswer<'POST /admin/v1/providers/try'>> {
  const { slug, entry } = await connectionOf(ports, call, context)
  const provider = await applied(async () => ports.catalog.providerOf(slug, entry))
  const startedMs = ports.clock.now()
  const trial = await ports.tryProvider(provider)
  const present = new Set(ports.catalog.shown().models.map(({ id }) => id))
  const { models: known } = ports.catalog.release
  const offered = offeredModels(slug, trial, modelsOf(known, slug), known)
  return {
    outcome: trial.outcome,
    status: trial.status,
    said: trial.said,
    elapsed_ms: Math.max(0, Math.round(ports.clock.now() - startedMs)),
    models: offered.map(({ listed, bundled, entry: model, alike }) => ({
      listed,
      bundled,
      exists: present.has(model.id),
      entry: wireModel(model),
      ...(alike === undefined ? {} : { alike: wireModel(alike) }),
    })),
  }
}

async function connectProvider(
  ports: AdminPorts,
  call: AdminCall,
  context: DocumentContext,
): Promise<AdminReply<'POST /admin/v1/providers'>> {
  const { slug, entry, models } = await connectionOf(ports, call, context)
  const stray = models.findIndex(({ endpoints }) => endpoints.some(({ provider }) => provider !== slug))
  if (stray !== -1)
    throw fieldError(
      `models[${stray}].endpoints`,
      'one_of',
      { allowed: slug },
      `must name the provider '${slug}' alone: other providers of the model stay as they are`,
    )
  const before = shownProvider(ports, slug)
  const outcome = await applied(() => ports.catalog.connectProvider(slug, entry, models))
  const after = providerAfter(ports, slug)
  const served = { ...after, models: models.map(({ id }) => id) }
  await recordChange(ports, call, `provider.${outcome === 'created' ? 'create' : 'update'}`, slug, before, served)
  return { status: outcome === 'created' ? 201 : 200, body: { slug, ...after } }
}

/** Reads the body as a small catalogue, so that every problem has its path. */
async function connectionOf(
  ports: AdminPorts,
  { json }: AdminCall,
  context: DocumentContext,
): Promise<{ readonly slug: string; readonly entry: ProviderEntry; readonly models: CatalogDocument['models'] }> {
  const given = json !== null && typeof json === 'object' && !Array.isArray(json) ? json : {}
  const { slug, provider, models, ...unknown } = given as Readonly<Record<string, unknown>>
  if (typeof slug !== 'string') throw fieldError('slug', 'required')
  checkSlug(slug)
  const [strange] = Object.keys(unknown)
  if (strange !== undefined) throw fieldError(strange, 'unknown_field', { known: 'slug, provider, models' })
  const { document, problems } = parseDocumentJson(
    { providers: { [slug]: provider ?? null }, ...(models === undefined ? {} : { models }) },
    context,
  )
  refuse(problems)
  const entry = ownValue(document.providers, slug)
  if (entry === undefined) throw fieldError('provider', 'required')
  refusePrivate(ports, slug, entry, context)
  return { slug, entry, models: document.models }
}

function checkSlug(slug: string): void {
  const wrong = slugProblem(slug)
  if (wrong !== null) throw fieldError('slug', 'slug', {}, wrong)
}

/**
 * Refuses files of the server and private addresses: only the operator's file may name them (guarantees.md requirement
 * 14). The address to which a name resolves is judged when the connection is made.
 */
export function refusePrivate(
  { catalog }: AdminPorts,
  slug: string,
  entry: ProviderEntry,
  { adapters }: Pick<DocumentContext, 'adapters'>,
): void {
  const { mayBePrivate, mayTrust, isFiled } = catalog.rightsOf(slug, entry)
  const refuseAt = (path: string, check: 'of_file' | 'machine_auth', message: string): void =>
    refuse([{ ...fault(path, check, {}, message), line: 0 }])
  if (!mayTrust)
    refuseAt('dialect.ca_file', 'of_file', 'is for the catalogue file: the admin API names no files of the server')
  const baseUrl = addressOf(entry, adapters)
  const refusal = entry.auth === undefined || isFiled ? null : ambientRefusal(entry.auth, baseUrl)
  if (refusal !== null) refuseAt('auth', 'machine_auth', refusal)
  if (mayBePrivate) return
  const addresses = [
    ['base_url', baseUrl],
    ...(entry.auth === undefined ? [] : authAddresses(entry.auth).map((url) => ['auth', url])),
  ]
  for (const [field = '', address = ''] of addresses) {
    const { host, hostname } = URL.canParse(address) ? new URL(address) : { host: '', hostname: 'public' }
    if (isPrivateAddress(hostname)) throw fieldError(field, 'private_address', { host })
  }
}

/** Providers as records that a client describes. */
function providerKind(ports: AdminPorts, context: DocumentContext): RecordKind<'/admin/v1/providers/:slug'> {
  const { catalog } = ports
  const named = (slug: string, shown: WireProvider | null): (WireProvider & { slug: string }) | null =>
    shown === null ? null : { slug, ...shown }
  return {
    path: '/admin/v1/providers/:slug',
    noun: 'Provider',
    event: 'provider',
    terms: null,
    show: async (slug) => {
      // Another node may have made the provider just now.
      await catalog.refresh()
      return named(slug, shownProvider(ports, slug))
    },
    put: async ({ json }, slug, _read, guard) => {
      checkSlug(slug)
      const { entry, problems } = parseProviderJson(json, context)
      refuse(problems)
      refusePrivate(ports, slug, entry, context)
      const seen = watched(guard, (document) => named(slug, providerIn(document, slug)))
      const outcome = await applied(() => catalog.putProvider(slug, entry, seen.check))
      const after = { slug, ...providerAfter(ports, slug) }
      return { id: slug, before: seen.before(), after, changed: outcome !== 'same' }
    },
    remove: async (_call, slug, guard) => {
      const seen = watched(guard, (document) => named(slug, providerIn(document, slug)))
      if (!(await applied(() => catalog.deleteProvider(slug, seen.check)))) return null
      const before = seen.before()
      return before === null ? null : { id: slug, before }
    },
  }
}

/** The provider without secrets: credentials are cut to their last four characters. */
function shownProvider({ catalog }: AdminPorts, slug: string): WireProvider | null {
  return providerIn(catalog.shown(), slug)
}

function providerIn({ providers }: CatalogDocument, slug: string): WireProvider | null {
  const entry = ownValue(providers, slug)
  return entry === undefined ? null : wireProvider(entry)
}

function providerAfter(ports: AdminPorts, slug: string): WireProvider {
  const after = shownProvider(ports, slug)
  if (after === null) throw new Error(`Provider ${slug} is not in the catalogue that it was put into.`)
  return after
}

/** The most problems that a refusal names. A text that is no catalogue has thousands, and nobody reads them all. */
const PROBLEMS_MAX = 50

/**
 * Refuses a document with problems, one sentence each. An endpoint whose only fault is that no request can be routed to
 * it is accepted.
 */
export function refuse(problems: readonly Problem[]): void {
  const fatal = problems.filter((problem) => problem.unroutable !== true)
  if (fatal.length > 0) throw problemsError(fatal)
}

function problemsError(problems: readonly Fault[]): ApiError {
  const told = problems.slice(0, PROBLEMS_MAX)
  const more = problems.length > told.length ? [`and ${problems.length - told.length} more`] : []
  const sentences = told.map((problem) => problemText({ ...problem, line: 0 }, 'body').replace(/^body: /, ''))
  const message = [...sentences, ...more].join('; ')
  const lines: readonly CatalogProblem[] = told.map(({ path, message: text, check, params }) => ({
    path,
    message: text,
    check,
    params,
  }))
  return new ApiError('invalid_input', message, { metadata: { problems: lines, problem_count: problems.length } })
}

/** Reading 10 MB of a document takes a turn of the event loop, so the changes are computed in the next. */
export async function applied<T>(work: () => Promise<T>): Promise<T> {
  await nextTurn()
  try {
    return await work()
  } catch (thrown) {
    if (thrown instanceof CatalogFaults) throw problemsError(thrown.faults)
    throw thrown
  }
}

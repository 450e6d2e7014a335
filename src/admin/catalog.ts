import type { Principal } from '../access/principal.ts'
import { CatalogError, problemText } from '../catalog/catalog-check.ts'
import {
  EMPTY_DOCUMENT,
  parseDocumentJson,
  parseModelJson,
  parseProviderJson,
  parseSettingsJson,
  slugProblem,
  type ProviderEntry,
} from '../catalog/document.ts'
import type { Problem } from '../catalog/source-tree.ts'
import { wireDocument, wireModel, wireProvider } from '../catalog/wire-document.ts'
import { ApiError, fieldError } from '../errors.ts'
import type { Reply, Route } from '../http/edge.ts'
import { isPrivateAddress } from '../lib/private-address.ts'
import { withoutTrailing } from '../lib/trailing.ts'
import { decimalText } from '../money.ts'
import type { CatalogProblem } from './contract.ts'
import { adminRoute, notFound, param, recordEvent, type AdminCall, type AdminPorts } from './ports.ts'

/** More are not read at once, and a document that is none has thousands. */
const PROBLEMS_MAX = 50

/** The catalogue, its parts and the live settings (operator.md 4). */
export function catalogAdminRoutes(ports: AdminPorts, adapters: ReadonlySet<string>): readonly Route<Principal>[] {
  const context = { adapters, env: {} }
  return [
    adminRoute('GET', 'catalog', async (call) => showCatalog(ports, call)),
    adminRoute('PUT', 'catalog', async (call) => {
      const { document, problems } = parseDocumentJson(call.json, context)
      refuse(problems)
      for (const [slug, entry] of Object.entries(document.providers)) await refusePrivate(ports, slug, entry)
      const dryRun = call.query.get('dry_run') === '1'
      const lines = await applied(() => ports.catalog.applyDocument(document, dryRun))
      if (!dryRun && lines.length > 0) await recordEvent(ports, call, 'catalog.put', 'catalog', null, lines)
      return {
        status: 200,
        body: {
          applied: !dryRun,
          changes: lines,
          price_version: ports.catalog.current().priceVersion,
          ...warned(ports.catalog.warnings(document)),
        },
      }
    }),
    adminRoute('POST', 'catalog/update', async (call) => {
      const dryRun = call.query.get('dry_run') === '1'
      const lines = await applied(() => ports.catalog.updateBundle(dryRun))
      if (!dryRun && lines.length > 0) await recordEvent(ports, call, 'catalog.update', 'catalog', null, lines)
      return {
        status: 200,
        body: { applied: !dryRun, changes: lines, price_version: ports.catalog.current().priceVersion },
      }
    }),
    adminRoute('PUT', 'providers/:slug', (call) => putProvider(ports, call, context)),
    adminRoute('DELETE', 'providers/:slug', (call) =>
      remove(ports, call, 'provider', param(call, 'slug'), (slug) => ports.catalog.deleteProvider(slug)),
    ),
    adminRoute('PUT', 'models/*id', (call) => putModel(ports, call)),
    adminRoute('DELETE', 'models/*id', (call) =>
      remove(ports, call, 'model', param(call, 'id'), (id) => ports.catalog.deleteModel(id)),
    ),
    adminRoute('GET', 'settings', async () => ({ status: 200, body: settingsBody(ports) })),
    adminRoute('PATCH', 'settings', (call) => patchSettings(ports, call)),
  ]
}

/** With `format=yaml` the operator's own file, as `tollgate export` writes it. */
function showCatalog({ catalog }: AdminPorts, call: AdminCall): Reply {
  if (call.query.get('format') === 'yaml')
    return { status: 200, body: catalog.exportText(), contentType: 'application/yaml; charset=utf-8' }
  return { status: 200, body: wireDocument(catalog.shown()) }
}

/** Endpoints that only cannot be routed to stand; everything else is refused in one sentence each. */
function refuse(problems: readonly Problem[]): void {
  const fatal = problems.filter((problem) => problem.unroutable !== true)
  if (fatal.length > 0) throw problemsError(fatal)
}

function problemsError(problems: readonly Problem[]): ApiError {
  const message = problems.map((problem) => problemText(problem, 'body').replace(/^body: /, '')).join('; ')
  const lines: readonly CatalogProblem[] = problems
    .slice(0, PROBLEMS_MAX)
    .map(({ path, message: text, known }) => ({
      path,
      message: text,
      check: known?.check ?? null,
      params: known?.params ?? {},
    }))
  return new ApiError('invalid_input', message, { metadata: { problems: lines, problem_count: problems.length } })
}

async function applied<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (thrown) {
    if (thrown instanceof CatalogError) throw problemsError(thrown.problems)
    throw thrown
  }
}

/** Only the operator's own file may always name a private address (reliability.md 4 row 14). */
async function refusePrivate(ports: AdminPorts, slug: string, { base_url: baseUrl }: ProviderEntry): Promise<void> {
  if (
    ports.allowPrivateUpstreams ||
    baseUrl === undefined ||
    ports.catalog.current().providers.get(slug)?.baseUrl === withoutTrailing(baseUrl, '/')
  )
    return
  if (isPrivateAddress(new URL(baseUrl).hostname)) {
    throw fieldError(
      'base_url',
      'private_address',
      { host: new URL(baseUrl).host },
      `'${new URL(baseUrl).host}' is a private address; a catalogue file may use it, the admin API only with ALLOW_PRIVATE_UPSTREAMS=true`,
    )
  }
}

async function putProvider(
  ports: AdminPorts,
  call: AdminCall,
  context: Parameters<typeof parseProviderJson>[1],
): Promise<Reply> {
  const slug = param(call, 'slug')
  const wrong = slugProblem(slug)
  if (wrong !== null) throw fieldError('slug', 'slug', {}, `${wrong}`)
  const { entry, problems } = parseProviderJson(call.json, context)
  refuse(problems)
  await refusePrivate(ports, slug, entry)
  const before = shownProvider(ports, slug)
  const outcome = await applied(() => ports.catalog.putProvider(slug, entry))
  const after = shownProvider(ports, slug)
  await recordEvent(ports, call, `provider.${outcome === 'created' ? 'create' : 'update'}`, slug, before, after)
  return { status: outcome === 'created' ? 201 : 200, body: { slug, ...after } }
}

async function putModel(ports: AdminPorts, call: AdminCall): Promise<Reply> {
  const id = param(call, 'id')
  const given = call.json
  // The id stands in the path; a body without it means that one.
  const { entry, problems } = parseModelJson(
    given !== null && typeof given === 'object' && !('id' in given) ? { ...given, id } : given,
  )
  refuse(problems)
  if (entry.id !== id)
    throw fieldError('id', 'other_id', { path: id }, `'${entry.id}' is not the model of the path, '${id}'`)
  const before = shownModel(ports, id)
  const outcome = await applied(() => ports.catalog.putModel(entry))
  const after = shownModel(ports, id)
  await recordEvent(ports, call, `model.${outcome === 'created' ? 'create' : 'update'}`, id, before, after)
  const warnings = ports.catalog.warnings({ ...EMPTY_DOCUMENT, models: [entry] })
  return { status: outcome === 'created' ? 201 : 200, body: { ...after, ...warned(warnings) } }
}

/** What stands and may not be meant; absent where there is nothing to say. */
function warned(warnings: readonly string[]): { readonly warnings?: readonly string[] } {
  return warnings.length === 0 ? {} : { warnings }
}

/** As anyone may see it: credentials are cut to their last four characters. */
function shownProvider({ catalog }: AdminPorts, slug: string): Record<string, unknown> | null {
  const entry = catalog.shown().providers[slug]
  return entry === undefined ? null : wireProvider(entry)
}

function shownModel({ catalog }: AdminPorts, id: string): Record<string, unknown> | null {
  const entry = catalog.shown().models.find((model) => model.id === id)
  return entry === undefined ? null : wireModel(entry)
}

async function remove(
  ports: AdminPorts,
  call: AdminCall,
  what: 'provider' | 'model',
  id: string,
  work: (id: string) => Promise<boolean>,
): Promise<Reply> {
  const before = what === 'provider' ? shownProvider(ports, id) : shownModel(ports, id)
  const removed = await applied(() => work(id))
  if (!removed) throw notFound(what === 'provider' ? 'Provider' : 'Model', id)
  await recordEvent(ports, call, `${what}.delete`, id, before, null)
  return { status: 200, body: { id, deleted: true } }
}

function settingsBody({ catalog, signupDefault }: AdminPorts): Record<string, unknown> {
  const { settings } = catalog.current()
  const source = catalog.ratesSource()
  return {
    maintenance:
      settings.maintenance === null
        ? null
        : { message: settings.maintenance.message, retry_after: settings.maintenance.retryAfter },
    timezone: settings.timezone,
    rates: {
      ...(source === null ? {} : { source }),
      ...Object.fromEntries(
        Object.entries(settings.rates)
          .filter(([currency]) => currency !== 'RUB')
          .map(([currency, rate]) => [currency, Number(decimalText(rate))]),
      ),
    },
    markup: Number(decimalText(settings.markup)),
    rate_limit: settings.rateLimit,
    ip_block: settings.ipBlock,
    midstream_error: settings.midstreamError,
    stream_resume: settings.streamResume,
    fetch_urls: settings.fetchUrls,
    signup: settings.signup ?? signupDefault,
  }
}

async function patchSettings(ports: AdminPorts, call: AdminCall): Promise<Reply> {
  const { settings, problems } = parseSettingsJson(call.json)
  refuse(problems)
  const before = settingsBody(ports)
  // Only the rates that are given change: another currency's models must not lose theirs.
  const rates =
    settings.rates === undefined ? {} : { rates: { ...ports.catalog.shown().settings.rates, ...settings.rates } }
  await applied(() => ports.catalog.patchSettings({ ...settings, ...rates }))
  const after = settingsBody(ports)
  await recordEvent(ports, call, 'settings.update', 'settings', before, after)
  return { status: 200, body: { ...after, ...warned(ports.catalog.warnings({ ...EMPTY_DOCUMENT, settings })) } }
}

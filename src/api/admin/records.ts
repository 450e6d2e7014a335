import { createHash } from 'node:crypto'
import { differing, isEmpty } from '../../base/objects.ts'
import type { Principal } from '../../access/principal.ts'
import type { CatalogDocument } from '../../catalog/document.ts'
import { ApiError } from '../../base/errors.ts'
import type { Route } from '../../http/edge.ts'
import { fieldError, reasonError } from '../../base/refusals.ts'
import { ExternalIdTakenError, type NamedKind } from '../../store/accounts/external-id-store.ts'
import type { AdminWireRoute } from './admin-route.ts'
import type { BodyOf } from '../../base/wire-route.ts'
import { ADMIN_ROUTES, type AdminApi } from './contract.ts'
import { EXTERNAL_ID_PATTERN, EXTERNAL_PREFIX } from './record-contract.ts'
import {
  adminReply,
  notFound,
  param,
  recordChange,
  requireParts,
  type AdminBody,
  type AdminCall,
  type AdminPorts,
  type AdminReply,
} from './ports.ts'

/** Records that a client keeps equal to its own description of them. Each has GET, PUT and DELETE. */
type RecordPath =
  | '/admin/v1/accounts/:id'
  | '/admin/v1/account-groups/:id'
  | '/admin/v1/keys/:id'
  | '/admin/v1/tokens/:id'
  | '/admin/v1/codes/:id'
  | '/admin/v1/notices/channels/:id'
  | '/admin/v1/providers/:slug'
  | '/admin/v1/models/*id'
type PatchedPath = Exclude<RecordPath, `/admin/v1/${'providers' | 'models'}/${string}`>
type Shown<P extends RecordPath> = AdminApi[`GET ${P}`]['answer']

/**
 * Throws if the record is not in the state that the request's headers require, or if the change to `next` needs another
 * scope. null = there is no record.
 */
export type Guard = (current: object | null, next?: object) => void

/** A record before and after a change. */
export interface Written<W> {
  /** Its id in the audit log. */
  readonly id: string
  /** null = the record is new. */
  readonly before: W | null
  readonly after: W
  readonly changed: boolean
  /** Fields of this answer only. */
  readonly once?: object
}

export interface RecordKind<P extends RecordPath> {
  readonly path: P
  readonly noun: string
  readonly event: 'account' | 'account_group' | 'key' | 'token' | 'code' | 'notice_channel' | 'provider' | 'model'
  /** The fields that PUT sets, which its ETag stands for; null = all. */
  readonly terms: readonly string[] | null
  show(id: string): Promise<Shown<P> | null>
  put(call: AdminCall, id: string, read: AdminBody<`PUT ${P}`>, guard: Guard): Promise<Written<Shown<P>>>
  remove(call: AdminCall, id: string, guard: Guard): Promise<{ readonly id: string; readonly before: Shown<P> } | null>
}

/** GET, PUT and DELETE of a kind of records (operator.md 4, records by name). */
export function recordRoutes<P extends RecordPath>(
  ports: AdminPorts,
  kind: RecordKind<P>,
): readonly Route<Principal>[] {
  return [
    adminReply<`GET ${P}`>(`GET ${kind.path}`, async (call) => {
      const id = idIn(call)
      const shown = await kind.show(id)
      if (shown === null) throw notFound(kind.noun, id)
      return answered(kind, { status: 200, body: shown }, shown)
    }),
    adminReply<`PUT ${P}`>(`PUT ${kind.path}`, async (call, read) => {
      const written = await kind.put(call, idIn(call), read, changeGuard(ports, call, kind, `PUT ${kind.path}`, read))
      return answeredChange(ports, call, kind, written)
    }),
    adminReply<`DELETE ${P}`>(`DELETE ${kind.path}`, async (call) => {
      const id = idIn(call)
      const guard = guardOf(call, kind)
      const removed = await kind.remove(call, id, guard)
      if (removed === null) {
        guard(null)
        if (isOurs(kind, id)) throw notFound(kind.noun, id)
      } else {
        const action = kind.event === 'token' ? 'token.revoke' : (`${kind.event}.delete` as const)
        await recordChange(ports, call, action, removed.id, removed.before, null)
      }
      // The same for every path: the type of each is `Removed`.
      return { status: 200, body: { id, deleted: removed !== null } } as AdminReply<`DELETE ${P}`>
    }),
  ]
}

/** A change that depends on the record's state at that moment. */
type Decide<R, C> = (current: R) => C

/**
 * What a body of PUT or POST describes: the change that makes an existing record equal to it, and a new record made
 * from it.
 */
interface Described<R, C> {
  readonly change: Decide<R, C>
  /** `once`: fields that only the answer to the making has. */
  readonly create: (externalId: string | null) => Promise<{ readonly record: R; readonly once?: object }>
}

type PatchTerms<P extends PatchedPath> = Omit<BodyOf<AdminApi[`PATCH ${P}`]>, 'external_id'>

/** A kind of records that have an id of ours, and may have an external one. */
export interface NamedRecords<P extends PatchedPath, R extends { readonly id: string }, C extends object> extends Pick<
  RecordKind<P>,
  'path' | 'noun' | 'event' | 'terms'
> {
  readonly kind: NamedKind
  get(id: string): Promise<R | null>
  shown(record: R): Shown<P>
  /** Changes a record while nobody else does; null = there is none. If `decide` throws, nothing changes. */
  update(id: string, decide: Decide<R, C>): Promise<R | null>
  describe(call: AdminCall, read: AdminBody<`PUT ${P}`>): Promise<Described<R, C>> | Described<R, C>
  /** The change by the fields that are given. */
  patch(call: AdminCall, terms: PatchTerms<P>): Promise<Decide<R, C>> | Decide<R, C>
  /** false = the record is gone already. `guard` must be asked while nobody else changes the record. */
  remove(record: R, guard: Guard, call: AdminCall): Promise<boolean>
  /** Called after an update that changed something. */
  changed?(written: Written<Shown<P>>): Promise<void> | void
}

/** GET, PUT, PATCH and DELETE of a kind of records. */
export function namedRecordRoutes<P extends PatchedPath, R extends { readonly id: string }, C extends object>(
  ports: AdminPorts,
  kind: NamedRecords<P, R, C>,
): readonly Route<Principal>[] {
  const find = (given: string): Promise<R | null> => findNamed(ports, kind, given)
  const routes: RecordKind<P> = {
    ...kind,
    show: async (given) => {
      const found = await find(given)
      return found === null ? null : kind.shown(found)
    },
    put: async (call, given, read, guard) => {
      const { change, create } = await kind.describe(call, read)
      return putNamed(ports, kind, { given, guard }, change, create)
    },
    remove: async (call, given, guard) => {
      const found = await find(given)
      if (found === null) return null
      const seen = watchedGuard<Shown<P>>(guard)
      if (!(await kind.remove(found, seen.guard, call))) return null
      return { id: found.id, before: seen.before() ?? kind.shown(found) }
    },
  }
  return [
    ...recordRoutes(ports, routes),
    adminReply<`PATCH ${P}`>(`PATCH ${kind.path}`, async (call, read) => {
      const given = idIn(call)
      if ((await find(given)) === null) throw notFound(kind.noun, given)
      const guard = changeGuard(ports, call, kind, `PATCH ${kind.path}`, read)
      // The body of every PATCH may give an external id.
      const { external_id: externalId, ...terms } = read() as PatchTerms<P> & { readonly external_id?: string | null }
      const name = externalIdPatch(externalId)
      // Without the external id, the rest is the body's other fields.
      const decide = await kind.patch(call, terms as unknown as PatchTerms<P>)
      const id = await recordId(ports, kind.kind, given)
      const change = (current: R): C => ({ ...decide(current), ...name })
      const written = id === null ? null : await refusingTaken(() => changedNamed(kind, id, guard, change))
      if (written === null) throw notFound(kind.noun, given)
      return answeredChange(ports, call, kind, written)
    }),
  ]
}

type PostKey = `POST /admin/v1/${'accounts' | 'account-groups' | 'tokens' | 'notices/channels'}`

/** POST of a kind of records: its body is that of PUT, in some kinds without fields that may be left out. */
export function postRoute<P extends PatchedPath, R extends { readonly id: string }, C extends object>(
  ports: AdminPorts,
  kind: NamedRecords<P, R, C>,
  key: PostKey,
): Route<Principal> {
  return adminReply<PostKey>(key, async (call, read) => {
    requireParts(ports, call, key, null, read())
    // The contract's rows have these types.
    const { create } = await kind.describe(call, read as unknown as AdminBody<`PUT ${P}`>)
    const { record, once } = await create(null)
    const shown = kind.shown(record)
    await recordChange(ports, call, `${kind.event}.create`, record.id, null, shown)
    return { status: 201, body: { ...(shown as object), ...once } as AdminReply<PostKey>['body'] }
  })
}

/** The record that a path or a field names, by its id or its external id. */
export async function findNamed<R>(
  ports: AdminPorts,
  { kind, get }: { readonly kind: NamedKind; get(id: string): Promise<R | null> },
  given: string,
): Promise<R | null> {
  const id = await recordId(ports, kind, given)
  return id === null ? null : get(id)
}

async function answeredChange<P extends RecordPath, K extends keyof AdminApi>(
  ports: AdminPorts,
  call: AdminCall,
  kind: Pick<RecordKind<P>, 'event' | 'terms'>,
  { id, before, after, changed, once }: Written<Shown<P>>,
): Promise<AdminReply<K>> {
  if (changed)
    await recordChange(ports, call, `${kind.event}.${before === null ? 'create' : 'update'}`, id, before, after)
  // The answer to a change is the record, as the contract's rows say for every path.
  const body = { ...(after as object), ...once } as AdminReply<K>['body']
  return answered(kind, { status: before === null ? 201 : 200, body }, after)
}

function answered<P extends RecordPath, R extends object>(
  kind: Pick<RecordKind<P>, 'terms'>,
  reply: R,
  shown: Shown<P>,
): R & { readonly headers: Readonly<Record<string, string>> } {
  return { ...reply, headers: { etag: etagOf(kind, shown) } }
}

function idIn(call: AdminCall): string {
  return param(call, 'slug' in call.params ? 'slug' : 'id')
}

/** Whether the id has the form of ours. Such an id without a record is a mistake, not a new external id. */
function isOurs({ event }: RecordKind<RecordPath>, id: string): boolean {
  return event !== 'provider' && event !== 'model' && !id.startsWith(EXTERNAL_PREFIX)
}

/** Equal for equal terms, whatever has been spent on the record meanwhile. */
export function etagOf({ terms }: Pick<RecordKind<RecordPath>, 'terms'>, shown: object): string {
  const fields = Object.entries(shown).filter(([name]) => terms === null || terms.includes(name))
  const text = JSON.stringify(fields.toSorted(([one], [other]) => (one < other ? -1 : 1)))
  return `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`
}

/** The conditions of `If-Match` and `If-None-Match`. */
export function guardOf(call: AdminCall, kind: Pick<RecordKind<RecordPath>, 'terms' | 'noun'>): Guard {
  const wanted = tagsOf(call, 'if-match')
  const unwanted = tagsOf(call, 'if-none-match')
  return (current) => {
    const tag = current === null ? null : etagOf(kind, current)
    const fits = (tags: ReadonlySet<string>): boolean => tag !== null && (tags.has('*') || tags.has(tag))
    if (wanted !== null && !fits(wanted))
      throw failedPrecondition(
        tag === null
          ? `${kind.noun}: there is none, so it cannot be as If-Match says`
          : `${kind.noun}: it has changed, its ETag is ${tag} and not that of If-Match. Read it again`,
      )
    if (unwanted !== null && fits(unwanted))
      throw failedPrecondition(`${kind.noun}: it is there already, with the ETag ${tag}, which If-None-Match excludes`)
  }
}

function changeGuard(
  ports: AdminPorts,
  call: AdminCall,
  kind: Pick<RecordKind<RecordPath>, 'terms' | 'noun'>,
  route: `${'PUT' | 'PATCH'} ${RecordPath}` & keyof AdminApi,
  read: () => object,
): Guard {
  const guard = guardOf(call, kind)
  const { parts }: AdminWireRoute = ADMIN_ROUTES[route]
  if (parts === undefined) return guard
  return (current, next) => {
    guard(current)
    // A new record is judged by its body.
    const after = next ?? (current === null ? read() : undefined)
    if (after !== undefined) requireParts(ports, call, route, current, after)
  }
}

function failedPrecondition(message: string): ApiError {
  return new ApiError('precondition_failed', message)
}

/** null = the header is absent. A weak tag counts like a strong one. */
function tagsOf(call: AdminCall, name: 'if-match' | 'if-none-match'): ReadonlySet<string> | null {
  const given = call.request.headers[name]
  if (given === undefined) return null
  const tags = given.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  const shown = name === 'if-match' ? 'If-Match' : 'If-None-Match'
  if (!tags.every((tag) => tag === '*' || /^"[\x21\x23-\x7e]*"$/.test(tag)))
    throw failedPrecondition(`${shown}: must be * or ETags in quotation marks, such as "Vb3kQ9xT2mLr7dWa"`)
  return new Set(tags)
}

/** The external id of a path such as `external:team-a`; null = it names a record by its own id. */
function externalIdIn(id: string): string | null {
  return id.startsWith(EXTERNAL_PREFIX) ? checkedExternalId(id.slice(EXTERNAL_PREFIX.length)) : null
}

function checkedExternalId(given: string): string {
  if (!EXTERNAL_ID_PATTERN.test(given)) throw fieldError('external_id', 'external_id')
  return given
}

/** The external id that a body gives: null takes it away, and it stays if the body has none. */
export function externalIdPatch(given: string | null | undefined): { readonly externalId?: string | null } {
  return given === undefined ? {} : { externalId: given === null ? null : checkedExternalId(given) }
}

/** The id of the record that a path or a field names; null = there is none. */
export async function recordId({ store }: AdminPorts, kind: NamedKind, given: string): Promise<string | null> {
  const externalId = externalIdIn(given)
  return externalId === null ? given : store.externalIds.find(kind, externalId)
}

/** Changes the record that has the external id, or makes one with it: of two requests at once, only one makes it. */
async function putNamed<P extends PatchedPath, R extends { readonly id: string }, C extends object>(
  ports: AdminPorts,
  kind: NamedRecords<P, R, C>,
  { given, guard }: { readonly given: string; readonly guard: Guard },
  change: Decide<R, C>,
  create: Described<R, C>['create'],
): Promise<Written<Shown<P>>> {
  const externalId = externalIdIn(given)
  const work = async (): Promise<Written<Shown<P>>> => {
    const id = await recordId(ports, kind.kind, given)
    const changed = id === null ? null : await changedNamed(kind, id, guard, change)
    if (changed !== null) return changed
    if (externalId === null) throw notFound(kind.noun, given)
    guard(null)
    const { record, once = {} } = await create(externalId)
    return { id: record.id, before: null, after: kind.shown(record), changed: true, once }
  }
  try {
    return await work()
  } catch (thrown) {
    if (!(thrown instanceof ExternalIdTakenError)) throw thrown
    // Another request made the record just now.
    return refusingTaken(work)
  }
}

/** Turns a name that another record has into a refusal with a sentence. */
export async function refusingTaken<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (thrown) {
    if (!(thrown instanceof ExternalIdTakenError)) throw thrown
    throw reasonError('external_id_taken')
  }
}

/** Changes a record by its state at that moment, and only if it differs; null = there is none. */
export async function changedNamed<P extends PatchedPath, R extends { readonly id: string }, C extends object>(
  kind: NamedRecords<P, R, C>,
  id: string,
  guard: Guard,
  decide: Decide<R, C>,
): Promise<Written<Shown<P>> | null> {
  const seen: { readonly before: Shown<P>; readonly changed: boolean }[] = []
  const after = await kind.update(id, (current) => {
    const before = kind.shown(current)
    guard(before)
    const change = differing(current, decide(current))
    guard(before, kind.shown({ ...current, ...change }))
    seen.push({ before, changed: !isEmpty(change) })
    return change
  })
  const last = seen.at(-1)
  if (after === null || last === undefined) return null
  const written = { id, ...last, after: kind.shown(after) }
  if (written.changed) await kind.changed?.(written)
  return written
}

/** The same guard, and the record as it was when the guard was first asked. */
function watchedGuard<W extends object>(inner: Guard): { readonly guard: Guard; readonly before: () => W | null } {
  let before: W | null = null
  return {
    guard: (current, next) => {
      // Guards of a kind are given its records in the form that answers show.
      before ??= current as W | null
      inner(current, next)
    },
    before: () => before,
  }
}

/** A guard of the catalogue that also records the entry as it was when the change was made. */
export function watched<W extends object>(
  guard: Guard,
  find: (shown: CatalogDocument) => W | null,
): { readonly check: (shown: CatalogDocument) => void; readonly before: () => W | null } {
  let before: W | null = null
  return {
    check: (document) => {
      before = find(document)
      guard(before)
    },
    before: () => before,
  }
}

import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Principal } from '../access/principal.ts'
import type { CatalogDocument } from '../catalog/document.ts'
import { ApiError } from '../base/errors.ts'
import type { Route } from '../http/edge.ts'
import { fieldError, reasonError } from '../base/refusals.ts'
import { ExternalIdTakenError, type NamedKind } from '../store/accounts/external-id-store.ts'
import type { AdminApi } from '../api/admin/contract.ts'
import { EXTERNAL_ID_PATTERN, EXTERNAL_PREFIX } from '../api/admin/record-contract.ts'
import {
  adminRoute,
  notFound,
  param,
  recordEvent,
  type AdminBody,
  type AdminCall,
  type AdminPorts,
  type AdminReply,
} from './ports.ts'

/** Records that a client keeps equal to its own description of them: each has GET, PUT and DELETE. */
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

/** Refuses the change of a record that is not as the request's headers say; null = there is none. */
export type Guard = (current: object | null) => void

/** A record before and after a change. */
export interface Written<W> {
  /** Its id in the audit log. */
  readonly id: string
  /** null = it is new. */
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
    adminRoute<`GET ${P}`>(`GET ${kind.path}`, async (call) => {
      const id = idIn(call)
      const shown = await kind.show(id)
      if (shown === null) throw notFound(kind.noun, id)
      return answered(kind, { status: 200, body: shown }, shown)
    }),
    adminRoute<`PUT ${P}`>(`PUT ${kind.path}`, async (call, read) => {
      const written = await kind.put(call, idIn(call), read, guardOf(call, kind))
      return answeredChange(ports, call, kind, written)
    }),
    adminRoute<`DELETE ${P}`>(`DELETE ${kind.path}`, async (call) => {
      const id = idIn(call)
      const guard = guardOf(call, kind)
      const removed = await kind.remove(call, id, guard)
      if (removed === null) {
        guard(null)
        if (isOurs(kind, id)) throw notFound(kind.noun, id)
      } else {
        const action = kind.event === 'token' ? 'token.revoke' : (`${kind.event}.delete` as const)
        await recordEvent(ports, call, action, removed.id, removed.before, null)
      }
      // The same for every path: the type of each is `Removed`.
      return { status: 200, body: { id, deleted: removed !== null } } as AdminReply<`DELETE ${P}`>
    }),
  ]
}

/** PATCH of a kind of records. */
export function patchRoute<P extends PatchedPath>(
  ports: AdminPorts,
  kind: RecordKind<P>,
  patch: (
    call: AdminCall,
    id: string,
    read: AdminBody<`PATCH ${P}`>,
    guard: Guard,
  ) => Promise<Written<Shown<P>> | null>,
): Route<Principal> {
  return adminRoute<`PATCH ${P}`>(`PATCH ${kind.path}`, async (call, read) => {
    const id = idIn(call)
    if ((await kind.show(id)) === null) throw notFound(kind.noun, id)
    const written = await refusingTaken(() => patch(call, id, read, guardOf(call, kind)))
    if (written === null) throw notFound(kind.noun, id)
    return answeredChange(ports, call, kind, written)
  })
}

async function answeredChange<P extends RecordPath, K extends keyof AdminApi>(
  ports: AdminPorts,
  call: AdminCall,
  kind: RecordKind<P>,
  { id, before, after, changed, once }: Written<Shown<P>>,
): Promise<AdminReply<K>> {
  if (changed)
    await recordEvent(ports, call, `${kind.event}.${before === null ? 'create' : 'update'}`, id, before, after)
  // A change answers with the record, which the rows of the contract say for every path.
  const body = { ...(after as object), ...once } as AdminReply<K>['body']
  return answered(kind, { status: before === null ? 201 : 200, body }, after)
}

function answered<P extends RecordPath, R extends object>(
  kind: RecordKind<P>,
  reply: R,
  shown: Shown<P>,
): R & { readonly headers: Readonly<Record<string, string>> } {
  return { ...reply, headers: { etag: etagOf(kind, shown) } }
}

function idIn(call: AdminCall): string {
  return param(call, 'slug' in call.params ? 'slug' : 'id')
}

/** Whether an id was made here: one that names nothing is a mistake then. */
function isOurs({ event }: RecordKind<RecordPath>, id: string): boolean {
  return event !== 'provider' && event !== 'model' && !id.startsWith(EXTERNAL_PREFIX)
}

/** Equal for equal terms, whatever the record has spent meanwhile. */
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
  if (!EXTERNAL_ID_PATTERN.test(given))
    throw fieldError(
      'external_id',
      'external_id',
      {},
      'must be 1 to 128 letters, digits and . _ : @ + -, with a letter or a digit first',
    )
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

/** Changes the record that has the id, or makes one with its external id: of two requests at once only one does. */
export async function putNamed<W>(
  ports: AdminPorts,
  { kind, noun, given, guard }: { kind: NamedKind; noun: string; given: string; guard: Guard },
  change: (id: string) => Promise<Written<W> | null>,
  create: (externalId: string) => Promise<Written<W>>,
): Promise<Written<W>> {
  const externalId = externalIdIn(given)
  const work = async (): Promise<Written<W>> => {
    const id = await recordId(ports, kind, given)
    const changed = id === null ? null : await change(id)
    if (changed !== null) return changed
    if (externalId === null) throw notFound(noun, given)
    guard(null)
    if (id !== null) await ports.store.externalIds.free(kind, id)
    return create(externalId)
  }
  try {
    return await work()
  } catch (thrown) {
    if (!(thrown instanceof ExternalIdTakenError)) throw thrown
    // Another request has just made it.
    return refusingTaken(work)
  }
}

/** A name that another record has is refused in words. */
export async function refusingTaken<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (thrown) {
    if (!(thrown instanceof ExternalIdTakenError)) throw thrown
    throw reasonError('conflict', 'external_id_taken', {}, 'external_id: another record of this kind has it')
  }
}

/** Changes a record by what it is at that moment, and only where it differs. */
export async function changedRecord<R extends object, C extends object, W extends object>(
  { id, guard, shown }: { readonly id: string; readonly guard: Guard; readonly shown: (record: R) => W },
  update: (decide: (current: R) => C) => Promise<R | null>,
  decide: (current: R) => C,
): Promise<Written<W> | null> {
  const seen: { readonly before: W; readonly changed: boolean }[] = []
  const after = await update((current) => {
    const before = shown(current)
    guard(before)
    const change = differing(current, decide(current))
    seen.push({ before, changed: Object.keys(change).length > 0 })
    return change
  })
  const last = seen.at(-1)
  return after === null || last === undefined ? null : { id, ...last, after: shown(after) }
}

function differing<C extends object>(current: object, change: C): C {
  const now = new Map(Object.entries(current))
  // Fields of a change may be left out.
  return Object.fromEntries(
    Object.entries(change).filter(([name, value]) => value !== undefined && !isDeepStrictEqual(now.get(name), value)),
  ) as C
}

/** A guard of the catalogue that also keeps the record as it was when the change was made. */
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

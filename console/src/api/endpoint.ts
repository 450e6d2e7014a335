import type { AdminApi } from '../../../src/api/admin/contract.ts'
import type { CabinetApi } from '../../../src/api/cabinet/contract.ts'
import { ownValue } from '../../../src/base/own-value.ts'

type Api = CabinetApi & AdminApi
export type Endpoint = keyof Api
export type ReadEndpoint = Extract<Endpoint, `GET ${string}`>
export type ActEndpoint = Exclude<Endpoint, ReadEndpoint>
export type Answer<E extends Endpoint> = Api[E]['answer']

type ParameterNames<Path extends string> = Path extends `${string}/${':' | '*'}${infer Name}/${infer Rest}`
  ? Name | ParameterNames<`/${Rest}`>
  : Path extends `${string}/${':' | '*'}${infer Name}`
    ? Name
    : never

type Parameters<E extends Endpoint> = [ParameterNames<E>] extends [never]
  ? unknown
  : { readonly params: Readonly<Record<ParameterNames<E>, string>> }
export type QueryOf<E extends Endpoint> = Api[E] extends { readonly query?: infer Q } ? Q : {}
type Query<E extends Endpoint> = Api[E] extends { readonly query: infer Q }
  ? {} extends Q
    ? { readonly query?: Q }
    : { readonly query: Q }
  : unknown
type Body<E extends Endpoint> = Api[E] extends { readonly body: infer B }
  ? {} extends B
    ? { readonly body?: B }
    : { readonly body: B }
  : unknown

/** The arguments of a call of the endpoint, required and optional ones. */
export type Input<E extends Endpoint> = Parameters<E> & Query<E> & Body<E>

/** Any input, as the sending code sees it. */
export interface AnyInput {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: object
  readonly body?: unknown
}

/** The address of a call; a `*name` keeps its slashes. Empty and missing query values are left out. */
export function address(endpoint: string, { params = {}, query = {} }: AnyInput): string {
  const path = endpoint
    .slice(endpoint.indexOf(' ') + 1)
    .replaceAll(/([:*])(\w+)/g, (_, kind: string, name: string) =>
      kind === '*'
        ? (ownValue(params, name) ?? '').split('/').map(encodeURIComponent).join('/')
        : encodeURIComponent(ownValue(params, name) ?? ''),
    )
  const search = queryText(query)
  return search === '' ? path : `${path}?${search}`
}

export function queryText(query: object): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null)
  return new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, String(value)])).toString()
}

/** The fields that have a value. */
export function given<Fields extends object>(
  fields: Fields,
): { readonly [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } {
  // Only undefined values were left out.
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never
}

/** The values that were typed into these fields, without spaces around them; empty ones are left out. */
export function typed<Name extends string>(
  texts: Readonly<Record<Name, string>>,
): { readonly [Field in Name]?: string } {
  // The names stay the same.
  return Object.fromEntries(
    Object.entries<string>(texts).flatMap(([name, text]) => (text.trim() === '' ? [] : [[name, text.trim()]])),
  ) as never
}

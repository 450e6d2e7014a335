import { QueryClient, useQuery, type UseQueryResult } from '@tanstack/react-query'
import type { ComponentType, ReactNode } from 'react'
import { ApiFailure } from '../api/call.ts'
import { Loaded } from './Loaded.tsx'
import { useReader } from './words.ts'

/** The files of the console that were asked for. They belong to no user, so a sign-out does not forget them. */
const files = new QueryClient({
  defaultOptions: {
    queries: { staleTime: Infinity, gcTime: Infinity, networkMode: 'always', retry: 1, retryDelay: 300 },
  },
})

/** What the three browsers and the build's loader of styles say of a file that they did not get. */
const NOT_FETCHED = /dynamically imported module|importing a module script|preload CSS/i

/** Loads the file that has the component of that name; no other file has one. */
type File<Name extends string, Props> = () => Promise<Readonly<Record<Name, ComponentType<Props>>>>

/** A component whose file is loaded when it is first shown, or before by `load`, which throws an ApiFailure. */
export interface OnDemand<Props extends object> {
  (props: Props): ReactNode
  readonly load: () => Promise<unknown>
  /** The file itself, for what shows its place and its failure in its own way. */
  readonly useFile: () => UseQueryResult<ComponentType<Props>>
  /** The router's name for loading that does not have to succeed. */
  readonly preload: () => Promise<void>
}

/**
 * Until its file is there the component is an outline `height` px tall; a file that cannot be loaded is a sentence with
 * a button to try again. What stands around it, a form above all, stays as it is.
 */
export function onDemand<Name extends string, Props extends object>(
  name: Name,
  read: File<Name, Props>,
  height = 400,
): OnDemand<Props> {
  const query = { queryKey: [name], queryFn: async () => (await read().catch(notLoaded))[name] }
  const useFile = (): UseQueryResult<ComponentType<Props>> => useQuery(query, files)
  const Part = (props: Props): ReactNode => {
    useReader()
    return (
      <Loaded of={useFile()} height={height}>
        {(Component) => <Component {...props} />}
      </Loaded>
    )
  }
  return Object.assign(Part, {
    useFile,
    load: async () => files.ensureQueryData(query),
    preload: async () => files.prefetchQuery(query),
  })
}

/** The same, where `Plain` stands for the part until its file is there, or for good if it cannot be loaded. */
export function onDemandOr<Name extends string, Props extends object>(
  name: Name,
  read: File<Name, Props>,
  Plain: ComponentType<Props>,
): ComponentType<Props> {
  const { useFile } = onDemand(name, read)
  return (props) => {
    const { data: Part = Plain } = useFile()
    return <Part {...props} />
  }
}

/** Says why a file is not there: the line is broken, or a new release of the console has files of other names. */
async function notLoaded(thrown: unknown): Promise<never> {
  if (!(thrown instanceof Error) || !NOT_FETCHED.test(thrown.message)) throw thrown
  const page = await fetch('/', { headers: { accept: 'text/html' }, cache: 'no-store' }).catch(() => null)
  if (page === null || !page.ok) throw new ApiFailure(0, 'unreachable', String(thrown), null)
  const isThisRelease = (await page.text()).includes(new URL(import.meta.url).pathname)
  throw new ApiFailure(0, isThisRelease ? 'unreachable' : 'released', String(thrown), null)
}

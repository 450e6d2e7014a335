import { QueryClient, useQuery, type UseQueryResult } from '@tanstack/react-query'
import type { ComponentType, ReactNode } from 'react'
import { ApiFailure } from '../api/call.ts'
import { Loaded } from './Loaded.tsx'
import { useReader } from './words.ts'

/** The files of the console that were loaded. They belong to no user, so a sign-out does not remove them. */
const files = new QueryClient({
  defaultOptions: {
    queries: { staleTime: Infinity, gcTime: Infinity, networkMode: 'always', retry: 1, retryDelay: 300 },
  },
})

/** The errors of the three browsers, and of the build's loader of styles, for a file that could not be loaded. */
const NOT_FETCHED = /dynamically imported module|importing a module script|preload CSS/i

/** Loads the file that has the component of that name; no other file has one. */
type File<Name extends string, Props> = () => Promise<Readonly<Record<Name, ComponentType<Props>>>>

/** A component whose file is loaded when it is first shown, or earlier by `load`, which throws an ApiFailure. */
export interface OnDemand<Props extends object> {
  (props: Props): ReactNode
  readonly load: () => Promise<unknown>
  /** The query of the file, for callers that show its loading and failure themselves. */
  readonly useFile: () => UseQueryResult<ComponentType<Props>>
  /** The router calls this to load the file in advance; it never rejects. */
  readonly preload: () => Promise<void>
}

/**
 * While its file loads, the component is an outline `height` px tall; if the file cannot be loaded, it is an error with
 * a button to try again. Everything around it, especially a form, stays as it is.
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

/** The same, but `Plain` is shown until the file is loaded, or for good if it cannot be loaded. */
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

/** Throws the reason why a file is missing: the connection failed, or a new release has other file names. */
async function notLoaded(thrown: unknown): Promise<never> {
  if (!(thrown instanceof Error) || !NOT_FETCHED.test(thrown.message)) throw thrown
  const page = await fetch('/', { headers: { accept: 'text/html' }, cache: 'no-store' }).catch(() => null)
  if (page === null || !page.ok) throw new ApiFailure(0, 'unreachable', String(thrown), null)
  const isThisRelease = (await page.text()).includes(new URL(import.meta.url).pathname)
  throw new ApiFailure(0, isThisRelease ? 'unreachable' : 'released', String(thrown), null)
}

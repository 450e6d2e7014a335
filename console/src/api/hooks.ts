import {
  keepPreviousData,
  QueryClient,
  type QueryFunction,
  useMutation,
  type UseMutationResult,
  useQuery,
  useQueryClient,
  type UseQueryResult,
} from '@tanstack/react-query'
import { useCallback, useRef } from 'react'
import type { SessionState } from '../../../src/api/cabinet/session-contract.ts'
import { speakOf } from '../i18n.ts'
import { confirm, type Question } from '../parts/Dialog.tsx'
import { tellDone, tellFailure } from '../parts/Loaded.tsx'
import { ApiFailure, call } from './call.ts'
import type { ActEndpoint, Answer, AnyInput, Endpoint, Input, ReadEndpoint } from './endpoint.ts'

const FRESH_MS = 15_000
const TRIES_MAX = 2

export const queryClient = new QueryClient({
  defaultOptions: {
    // Without a network the call fails at once with an error, instead of waiting for one.
    mutations: { networkMode: 'always' },
    queries: {
      networkMode: 'always',
      staleTime: FRESH_MS,
      retry: (failures, failure) =>
        failures < TRIES_MAX && failure instanceof ApiFailure && (failure.status === 0 || failure.status >= 500),
      refetchOnWindowFocus: false,
    },
  },
})

/** A user has signed in: cached answers belong to someone else. */
export function startSession(client: QueryClient, state: SessionState): void {
  const session = queryKey('GET /cabinet/v1/session')
  client.removeQueries({ predicate: (query) => query.queryKey[0] !== session[0] })
  client.setQueryData(session, state)
}

/** The user was changed: what the session has about them is out of date. */
export function setProfile(client: QueryClient, profile: NonNullable<SessionState['profile']>): void {
  client.setQueryData<SessionState>(queryKey('GET /cabinet/v1/session'), (state) => state && { ...state, profile })
}

function renewSession(client: QueryClient): void {
  void client.invalidateQueries({ queryKey: queryKey('GET /cabinet/v1/session').slice(0, 1) })
}

export interface ReadOptions {
  readonly enabled?: boolean
  /** Shows the last answer while the next one, for other filters, is loading. */
  readonly keep?: boolean
  readonly everyMs?: number
}

export function queryKey(endpoint: Endpoint, input: object = {}): readonly unknown[] {
  return [endpoint, input]
}

/** Reads an endpoint and keeps the answer. A session that ended shows the sign-in page. */
export function useRead<E extends ReadEndpoint>(
  endpoint: E,
  input: Input<E>,
  options: ReadOptions = {},
): UseQueryResult<Answer<E>> {
  return useQuery({
    ...readOptions(endpoint, input, useQueryClient()),
    enabled: options.enabled ?? true,
    refetchInterval: options.everyMs ?? false,
    ...(options.keep === true ? { placeholderData: keepPreviousData } : {}),
  })
}

/** The query of an endpoint, for a component or to load it in advance. */
export function readOptions<E extends ReadEndpoint>(
  endpoint: E,
  input: Input<E>,
  client: QueryClient,
): { readonly queryKey: readonly unknown[]; readonly queryFn: QueryFunction<Answer<E>> } {
  return {
    // An input is a plain object of texts and numbers.
    queryKey: queryKey(endpoint, input as object),
    queryFn: async ({ signal }) => {
      try {
        return await call(endpoint, input, signal)
      } catch (thrown) {
        if (thrown instanceof ApiFailure && thrown.status === 401) renewSession(client)
        throw thrown
      }
    },
  }
}

export interface ActOptions<A, I = never> {
  /** Reads that are out of date after the call. */
  readonly renews?: readonly ReadEndpoint[]
  readonly done?: (answer: A) => void
  /** The text of a notification after success. */
  readonly said?: string | ((input: I) => string)
  /** The call that takes it back, for a button of that notification; null = none does. */
  readonly undo?: (input: I) => I | null
  /** The form shows the failure itself. */
  readonly quiet?: boolean
}

function needsProof(thrown: unknown): thrown is ApiFailure {
  return thrown instanceof ApiFailure && thrown.metadata['reason'] === 'proof_needed'
}

/** Repeats the call with a proof of identity if the server asks for one, because the sign-in is too long ago. */
async function proven<E extends ActEndpoint>(endpoint: E, input: Input<E>): Promise<Answer<E>> {
  try {
    return await call(endpoint, input)
  } catch (thrown) {
    if (!needsProof(thrown)) throw thrown
    const [{ askForProof }] = await Promise.all([import('../parts/ask-for-proof.tsx'), speakOf('pages')])
    // A field of AnyInput has this type in every Input<E>, or is absent there; a route that asks for a proof has a body
    // with it.
    const given = input as AnyInput & { readonly body?: object }
    return askForProof(thrown, (proof) => call(endpoint, { ...given, body: { ...given.body, ...proof } } as Input<E>))
  }
}

/** What takes the switching off of a record back. */
export function switchedBack<I extends { readonly body?: { readonly disabled?: boolean } }>(input: I): I | null {
  return input.body?.disabled === true ? { ...input, body: { disabled: false } } : null
}

/** Acts that cannot be taken back, or that somebody else feels at once: a button of one asks first. */
type FinalEndpoint = Extract<
  ActEndpoint,
  `DELETE ${string}` | 'POST /cabinet/v1/sessions/revoke-others' | 'POST /cabinet/v1/members/leave'
>

type Sent<E extends ActEndpoint> = UseMutationResult<Answer<E>, Error, Input<E>>
interface Asking<E extends ActEndpoint> {
  /** Calls it if the question is answered with yes. */
  readonly ask: (question: Omit<Question, 'onConfirm'> & { readonly input: Input<E> }) => void
}
type Act<E extends ActEndpoint> = Asking<E> &
  (E extends FinalEndpoint ? Omit<Sent<E>, 'mutate' | 'mutateAsync'> : Sent<E>)

/** Calls a changing endpoint on demand; failures are notifications. */
export function useAct<E extends ActEndpoint>(endpoint: E, options: ActOptions<Answer<E>, Input<E>> = {}): Act<E> {
  const sent = useSend(endpoint, options)
  const asking: Asking<E> = {
    ask: ({ input, ...question }) => confirm({ ...question, onConfirm: () => sent.mutate(input) }),
  }
  // The type of a final act lacks what calls it without a question.
  return { ...sent, ...asking } as unknown as Act<E>
}

/** As `useAct`, for a form: its button says what it does, and it shows the failure itself if it is `quiet`. */
export function useSend<E extends ActEndpoint>(endpoint: E, options: ActOptions<Answer<E>, Input<E>> = {}): Sent<E> {
  const client = useQueryClient()
  const { said } = options
  const running = useRef(new Set<string>())
  const act = useMutation<Answer<E>, Error, Input<E>>({
    mutationFn: (input) => proven(endpoint, input),
    onSuccess: async (answer, input) => {
      await Promise.all((options.renews ?? []).map((renewed) => client.invalidateQueries({ queryKey: [renewed] })))
      const back = options.undo?.(input) ?? null
      if (said !== undefined)
        tellDone(typeof said === 'string' ? said : said(input), back === null ? null : () => act.mutate(back))
      options.done?.(answer)
    },
    onSettled: (_answer, _failure, input) => void running.current.delete(JSON.stringify(input)),
    onError: (failure) => {
      // Another tab has signed out, or the session is over.
      if (failure instanceof ApiFailure && failure.errorType === 'unauthorized') renewSession(client)
      // A user who closed the dialog for the proof knows why nothing was done.
      if (options.quiet !== true && !needsProof(failure)) tellFailure(failure)
    },
  })
  const { mutate } = act
  // On a slow line a second click means the first. It stays the same function, as the effects of pages call it.
  const once = useCallback<typeof mutate>(
    (...input) => {
      const key = JSON.stringify(input[0])
      if (running.current.has(key)) return
      running.current.add(key)
      mutate(...input)
    },
    [mutate],
  )
  return { ...act, mutate: once }
}

/** Makes the session act for another account. The page is loaded anew, so that nothing of the last one stays in memory. */
export function useEnterAccount(path = '/'): (account: string) => void {
  const enter = useAct('POST /cabinet/v1/account', { done: () => window.location.assign(path) })
  return (account) => enter.mutate({ body: { account } })
}

import { useCallback, useEffect, useRef, useState } from 'react'
import { useQueryClient } from '@tanstack/react-query'
import { isStop } from './playground-call.ts'

export interface Run<A> {
  readonly answer: A | null
  readonly failure: unknown
  readonly busy: boolean
  readonly start: () => void
  readonly stop: () => void
}

/** Runs one paid call at a time, and keeps its answer or failure. Leaving the page stops it. */
export function useRun<A>(work: (signal: AbortSignal) => Promise<A>): Run<A> {
  const client = useQueryClient()
  const running = useRef<AbortController | null>(null)
  const [state, setState] = useState<{ readonly answer: A | null; readonly failure: unknown; readonly busy: boolean }>({
    answer: null,
    failure: null,
    busy: false,
  })
  const stop = useCallback(() => running.current?.abort(), [])
  useEffect(() => stop, [stop])
  const run = async (): Promise<void> => {
    running.current?.abort()
    const controller = new AbortController()
    running.current = controller
    setState({ answer: null, failure: null, busy: true })
    try {
      const answer = await work(controller.signal)
      setState({ answer, failure: null, busy: false })
    } catch (failure) {
      setState((before) => ({ ...before, failure: isStop(failure) ? null : failure, busy: false }))
    }
    await client.invalidateQueries({ queryKey: ['GET /cabinet/v1/summary'] })
  }
  return { ...state, start: () => void run(), stop }
}

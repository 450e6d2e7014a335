import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'

const KEPT = 'kept'

/**
 * A draft that outlives its page: whoever follows a link out of a form finds what they typed when they come back. It is
 * in the memory of the tab and ends with the session; `null` ends it too.
 */
export function useKept<T>(name: string, first: T): readonly [T, (next: T | null) => void] {
  const client = useQueryClient()
  const key = [KEPT, name]
  const [value, setValue] = useState(() => client.getQueryData<T>(key) ?? first)
  return [
    value,
    (next) => {
      // The draft stays itself, without a copy, and without a time at which it is dropped.
      client.setQueryDefaults(key, { gcTime: Infinity, structuralSharing: false })
      if (next === null) client.removeQueries({ queryKey: key })
      else client.setQueryData(key, next)
      setValue(next ?? first)
    },
  ]
}

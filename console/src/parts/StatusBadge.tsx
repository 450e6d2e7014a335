import type { ReactNode } from 'react'

export type Tone = 'good' | 'bad' | 'warn' | 'quiet'

/** A word that stands out by its colour. A plain element: long lists draw hundreds of them. */
export function StatusBadge({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }): ReactNode {
  return <span className={`badge badge-${tone}`}>{children}</span>
}

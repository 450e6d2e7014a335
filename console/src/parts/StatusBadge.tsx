import type { ReactNode } from 'react'

export type Tone = 'good' | 'bad' | 'warn' | 'quiet'

/** A word with the colour of its meaning. It is a plain element, because long lists draw hundreds of them. */
export function StatusBadge({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }): ReactNode {
  return <span className={`badge badge-${tone}`}>{children}</span>
}

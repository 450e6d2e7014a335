import { Badge } from '@mantine/core'
import type { ReactNode } from 'react'

export type Tone = 'good' | 'bad' | 'warn' | 'quiet'

const COLOURS: Readonly<Record<Tone, string>> = { good: 'teal', bad: 'red', warn: 'yellow', quiet: 'gray' }

export function StatusBadge({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }): ReactNode {
  return <Badge variant="light" color={COLOURS[tone]} tt="none" fw={600} radius="sm" className={`badge-${tone}`}>{children}</Badge>
}

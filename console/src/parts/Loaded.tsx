import { Alert, Skeleton, Stack, Text } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { FailureWords } from './FailureWords.tsx'
import { WarningIcon } from './icons.ts'
import { RetryButton } from './RetryButton.tsx'

export interface LoadedProps<A> {
  readonly of: UseQueryResult<A>
  /** How tall the content will be, roughly, in px. */
  readonly height?: number
  readonly children: (answer: A) => ReactNode
}

/**
 * The content of an answer. Before the answer there is an outline, after a failure the error with a button to try
 * again.
 */
export function Loaded<A>({ of, height = 220, children }: LoadedProps<A>): ReactNode {
  if (of.data !== undefined) return children(of.data)
  if (of.isError) return <Failed failure={of.error} retry={() => void of.refetch()} />
  return <Outline height={height} />
}

export function Failed({ failure, retry }: { readonly failure: unknown; readonly retry?: () => void }): ReactNode {
  const { t } = useTranslation()
  return (
    <Alert color="red" variant="light" icon={<WarningIcon />} title={t('failure.title')} role="alert">
      <FailureWords failure={failure} />
      {retry !== undefined && <RetryButton failure={failure} retry={retry} />}
    </Alert>
  )
}

export function Outline({ height }: { readonly height: number }): ReactNode {
  const { t } = useTranslation()
  return (
    <Stack gap="sm" role="status" aria-label={t('common.loading')}>
      <Skeleton height={Math.min(height, 44)} radius="md" />
      {height > 60 && <Skeleton height={height - 56} radius="md" />}
    </Stack>
  )
}

export interface EmptyProps {
  readonly title: string
  readonly text?: string
  readonly action?: ReactNode
}

/** Says that a list is empty, and what to do about it. */
export function Empty({ title, text, action }: EmptyProps): ReactNode {
  return (
    <Stack align="center" gap={6} py={48} px="md" ta="center">
      <Text fw={600}>{title}</Text>
      {text !== undefined && (
        <Text c="dimmed" size="sm" maw={440}>
          {text}
        </Text>
      )}
      {action !== undefined && <div>{action}</div>}
    </Stack>
  )
}

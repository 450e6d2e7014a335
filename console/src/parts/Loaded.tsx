import { Alert, Skeleton, Stack } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { ApiFailure } from '../api/call.ts'
import css from '../style/layout.module.css'
import { FailureWords } from './FailureWords.tsx'
import { WarningIcon } from './icons.ts'
import { Picture, type PictureName } from './Picture.tsx'
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
  if (of.isError) return <FailedPlace failure={of.error} retry={() => void of.refetch()} />
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

/** The same in the place of what was to be shown there. */
export function FailedPlace({ failure, retry }: { readonly failure: unknown; readonly retry: () => void }): ReactNode {
  const { t } = useTranslation()
  return (
    <Place picture={pictureOf(failure)} title={t('failure.title')} failed>
      <FailureWords failure={failure} />
      <RetryButton failure={failure} retry={retry} />
    </Place>
  )
}

function pictureOf(failure: unknown): PictureName {
  if (!(failure instanceof ApiFailure)) return 'broken'
  const { errorType, status } = failure
  if (errorType === 'unreachable') return 'offline'
  if (errorType === 'released') return 'updated'
  if (status === 401 || status === 403) return 'locked'
  return status === 404 ? 'lost' : 'broken'
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
  readonly picture?: PictureName
}

/** Says that a list is empty, and what to do about it. */
export function Empty({ title, text, action, picture = 'list' }: EmptyProps): ReactNode {
  return (
    <Place picture={picture} title={title}>
      {text !== undefined && <div className={css.placeText}>{text}</div>}
      {action !== undefined && <div>{action}</div>}
    </Place>
  )
}

interface PlaceProps {
  readonly picture: PictureName
  readonly title: string
  readonly failed?: boolean
  readonly children: ReactNode
}

function Place({ picture, title, failed = false, children }: PlaceProps): ReactNode {
  return (
    <div className={css.place} data-failed={failed} role={failed ? 'alert' : undefined}>
      <Picture name={picture} />
      <div className={css.placeTitle}>{title}</div>
      {children}
    </div>
  )
}

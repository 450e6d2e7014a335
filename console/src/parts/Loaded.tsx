import { Alert, Button, Group, Skeleton, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import type { UseQueryResult } from '@tanstack/react-query'
import { type ReactNode, useLayoutEffect, useRef } from 'react'
import { ApiFailure } from '../api/call.ts'
import { failureText, failureTitle, problemTexts, serverWords } from './failure-text.ts'
import { RetryIcon, WarningIcon } from './icons.ts'
import { t, useReader } from './words.ts'
import { Said } from './cells.tsx'

interface LoadedProps<A> {
  readonly of: UseQueryResult<A>
  /** The approximate height of the content, in px. */
  readonly height?: number
  readonly children: (answer: A) => ReactNode
}

/**
 * The content of an answer. While it loads there is an outline, after a failure the error with a button to try again.
 */
export function Loaded<A>({ of, height = 220, children }: LoadedProps<A>) {
  if (of.data !== undefined) return children(of.data)
  if (of.isError) return <FailedPlace failure={of.error} retry={() => void of.refetch()} />
  return <Outline height={height} />
}

export function Failed({ failure, retry }: { readonly failure: unknown; readonly retry?: () => void }) {
  return (
    <Alert color="red" variant="light" icon={<WarningIcon />} title={failureTitle(failure)} role="alert">
      <FailureWords failure={failure} />
      {retry !== undefined && <RetryButton failure={failure} retry={retry} />}
    </Alert>
  )
}

/** A failure in the place where the content would be. */
export function FailedPlace({ failure, retry }: { readonly failure: unknown; readonly retry: () => void }) {
  return (
    <Place picture={pictureOf(failure)} title={failureTitle(failure)} failed>
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

interface OutlineProps {
  readonly height: number
  /** What comes is exactly as tall, so that the rest of the page can be shown. */
  readonly exact?: boolean
}

export function Outline({ height, exact = false }: OutlineProps) {
  const place = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => (exact || place.current === null ? undefined : holdBack(place.current)), [exact])
  return (
    <Stack gap="sm" role="status" aria-label={t('common.loading')} ref={place}>
      <Skeleton height={Math.min(height, 44)} radius="md" />
      {height > 60 && <Skeleton height={height - 56} radius="md" />}
    </Stack>
  )
}

/** How many outlines each part of a page has. */
const waiting = new WeakMap<Element, number>()

/**
 * Marks the parts of the page in which something loads, so that the layout hides what follows them; returns how to take
 * it back. A `:has()` in the style sheet would cost a minute where an answer has ten thousand lines.
 */
function holdBack(place: Element): () => void {
  const parts: Element[] = []
  for (let part: Element | null = place; part !== null; part = part.parentElement)
    if (part.parentElement?.matches('.page, .halves') === true) parts.push(part)
  const count = (by: number): void => {
    for (const part of parts) {
      const left = (waiting.get(part) ?? 0) + by
      waiting.set(part, left)
      part.toggleAttribute('data-waits', left > 0)
    }
  }
  count(1)
  return () => count(-1)
}

export interface EmptyProps {
  readonly title: string
  readonly text?: string
  readonly action?: ReactNode
  readonly picture?: PictureName
}

/** Tells the user that a list is empty, and what they can do about it. */
export function Empty({ title, text, action, picture = 'list' }: EmptyProps) {
  return (
    <Place picture={picture} title={title}>
      {text !== undefined && <div className="place-text">{text}</div>}
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

function Place({ picture, title, failed = false, children }: PlaceProps) {
  return (
    <div className="place" data-failed={failed} role={failed ? 'alert' : undefined}>
      <Picture name={picture} />
      <div className="place-title">{title}</div>
      {children}
    </div>
  )
}

/** An error in the reader's language. The server's own words are set apart and marked as English. */
export function FailureWords({ failure }: { readonly failure: unknown }) {
  useReader()
  const words = serverWords(failure)
  const { lines, more } = problemTexts(failure)
  return (
    <>
      <Text size="sm" component="span" display="block">
        {failureText(failure)}
      </Text>
      {words !== null && (
        <Text size="xs" c="dimmed" component="span" display="block">
          {t('failure.said')}: <Said text={words} />
        </Text>
      )}
      {lines.map(({ path, text, words: said }) => (
        <Text key={`${path} ${said}`} size="sm" component="span" display="block">
          {path !== '' && <code className="mono">{path}: </code>}
          {text ?? <Said text={said} />}
        </Text>
      ))}
      {more > 0 && (
        <Text size="sm" component="span" display="block">
          {t('failure.problems_more', { count: more })}
        </Text>
      )}
    </>
  )
}

interface RetryButtonProps {
  readonly failure: unknown
  readonly retry: () => void
  readonly reload?: () => void
}

/** A button that tries again. If a new release of the console has replaced the file, only reloading the page helps. */
function RetryButton({ failure, retry, reload = () => window.location.reload() }: RetryButtonProps) {
  useReader()
  const isOld = failure instanceof ApiFailure && failure.errorType === 'released'
  return (
    <Button mt="sm" size="xs" variant="default" leftSection={<RetryIcon size={16} />} onClick={isOld ? reload : retry}>
      {t(isOld ? 'failure.reload' : 'common.retry')}
    </Button>
  )
}

const WITH_RETRY = 'with-retry'
/** How long what was done can be taken back. */
const UNDO_MS = 10_000

/** How to try again, and how to do so by reloading the console. */
interface Again {
  readonly retry: () => void
  readonly reload?: () => void
}

/** Says as a notification what was done; with `undo` it has a button that takes it back. */
export function tellDone(text: string, undo: (() => void) | null): void {
  if (undo === null) {
    notifications.show({ message: text, color: 'sea' })
    return
  }
  const id = notifications.show({
    message: (
      <Group justify="space-between" wrap="nowrap">
        {text}
        <Button
          size="compact-sm"
          variant="light"
          onClick={() => {
            notifications.hide(id)
            undo()
          }}
        >
          {t('common.undo')}
        </Button>
      </Group>
    ),
    color: 'sea',
    autoClose: UNDO_MS,
  })
}

/** Shows a failure as a notification. With `again` it stays until the user responds, one at a time. */
export function tellFailure(failure: unknown, again?: Again): void {
  const retry = (): void => {
    notifications.hide(WITH_RETRY)
    again?.retry()
  }
  notifications.show({
    title: failureTitle(failure),
    message: (
      <>
        <FailureWords failure={failure} />
        {again !== undefined && <RetryButton failure={failure} {...again} retry={retry} />}
      </>
    ),
    color: 'red',
    ...(again === undefined ? {} : { id: WITH_RETRY, autoClose: false as const }),
  })
}

/** The lightly filled shape, and the lines on it, within 96 by 72. */
const PICTURES = {
  list: ['M32 8h32a6 6 0 0 1 6 6v44a6 6 0 0 1-6 6h-32a6 6 0 0 1-6-6v-44a6 6 0 0 1 6-6z', 'M36 22h16M36 34h24M36 46h12'],
  log: [
    'M21 10h54a7 7 0 0 1 7 7v38a7 7 0 0 1-7 7h-54a7 7 0 0 1-7-7v-38a7 7 0 0 1 7-7z',
    'M25 24h.01M25 36h.01M25 48h.01M36 24h34M36 36h24M36 48h30',
  ],
  key: ['M17 36a15 15 0 1 0 30 0a15 15 0 1 0-30 0z', 'M28 36h.01M47 36h36v10M70 36v7'],
  money: [
    'M22 26a18 7 0 0 1 36 0v22a18 7 0 0 1-36 0z',
    'M22 26a18 7 0 0 0 36 0M22 37a18 7 0 0 0 36 0M62 46a10 10 0 1 0 20 0a10 10 0 1 0-20 0zM70 52V41h3a3 3 0 0 1 0 6h-5',
  ],
  people: [
    'M30 24a10 10 0 1 0 20 0a10 10 0 1 0-20 0zM20 62c0-13 8-20 20-20s20 7 20 20z',
    'M60 15a8 8 0 0 1 3 15M65 42c8 2 13 8 13 20',
  ],
  model: [
    'M36 18h24a6 6 0 0 1 6 6v24a6 6 0 0 1-6 6h-24a6 6 0 0 1-6-6v-24a6 6 0 0 1 6-6z',
    'M44 29h8a3 3 0 0 1 3 3v8a3 3 0 0 1-3 3h-8a3 3 0 0 1-3-3v-8a3 3 0 0 1 3-3zM39 18V9M48 18V9M57 18V9M39 54v9M48 54v9M57 54v9M30 27h-9M30 36h-9M30 45h-9M66 27h9M66 36h9M66 45h9',
  ],
  provider: [
    'M25 12h46a5 5 0 0 1 5 5v11a5 5 0 0 1-5 5h-46a5 5 0 0 1-5-5v-11a5 5 0 0 1 5-5zM25 39h46a5 5 0 0 1 5 5v11a5 5 0 0 1-5 5h-46a5 5 0 0 1-5-5v-11a5 5 0 0 1 5-5z',
    'M31 22h.01M31 49h.01M42 22h22M42 49h22',
  ],
  notice: ['M30 50c5-5 6-11 6-18a12 12 0 0 1 24 0c0 7 1 13 6 18z', 'M43 57a5 5 0 0 0 10 0M48 20v-6'],
  chart: [
    'M30 40h7a2 2 0 0 1 2 2v14a2 2 0 0 1-2 2h-7a2 2 0 0 1-2-2v-14a2 2 0 0 1 2-2zM47 28h7a2 2 0 0 1 2 2v26a2 2 0 0 1-2 2h-7a2 2 0 0 1-2-2v-26a2 2 0 0 1 2-2zM64 20h7a2 2 0 0 1 2 2v34a2 2 0 0 1-2 2h-7a2 2 0 0 1-2-2v-34a2 2 0 0 1 2-2z',
    'M18 12v46h62',
  ],
  app: [
    'M29 10h11a5 5 0 0 1 5 5v11a5 5 0 0 1-5 5h-11a5 5 0 0 1-5-5v-11a5 5 0 0 1 5-5zM29 41h11a5 5 0 0 1 5 5v11a5 5 0 0 1-5 5h-11a5 5 0 0 1-5-5v-11a5 5 0 0 1 5-5zM60 41h11a5 5 0 0 1 5 5v11a5 5 0 0 1-5 5h-11a5 5 0 0 1-5-5v-11a5 5 0 0 1 5-5z',
    'M65.5 11v20M55.5 21h20',
  ],
  talk: [
    'M24 12h48a7 7 0 0 1 7 7v22a7 7 0 0 1-7 7H46L32 61V48h-8a7 7 0 0 1-7-7V19a7 7 0 0 1 7-7z',
    'M31 25h34M31 36h20',
  ],
  shield: ['M48 8l23 8v17c0 15-10 25-23 30-13-5-23-15-23-30V16z', 'M38 35l8 8 13-14'],
  calm: ['M25 36a23 23 0 1 0 46 0a23 23 0 1 0-46 0z', 'M37 37l8 8 15-17M81 12v8M77 16h8M15 52v8M11 56h8'],
  lost: [
    'M19 26h3a3 3 0 0 1 3 3v32a3 3 0 0 1-3 3h-3a3 3 0 0 1-3-3v-32a3 3 0 0 1 3-3z',
    'M20 26l58-15M40 21l3 9M56 17l3 9M36 64h9M54 64h9M72 64h9',
  ],
  locked: [
    'M42 34h14a4 4 0 0 1 4 4v10a4 4 0 0 1-4 4h-14a4 4 0 0 1-4-4v-10a4 4 0 0 1 4-4z',
    'M10 22h76M10 12v52M86 12v52M43 34v-5a6 6 0 0 1 12 0v5M49 43h.01',
  ],
  offline: [
    'M29 26h6a5 5 0 0 1 5 5v10a5 5 0 0 1-5 5h-6a5 5 0 0 1-5-5v-10a5 5 0 0 1 5-5zM63 26h6a5 5 0 0 1 5 5v10a5 5 0 0 1-5 5h-6a5 5 0 0 1-5-5v-10a5 5 0 0 1 5-5z',
    'M8 36h16M74 36h14M40 32h7M40 40h7M50 20l2-8M50 52l2 8',
  ],
  broken: ['M27 8h42v25l-8-5-7 7-8-7-8 7-7-6-4 3z M27 44l8 6 7-7 8 7 8-7 7 6 4-3v18H27z', 'M37 19h20'],
  updated: [
    'M23 36a25 25 0 1 0 50 0a25 25 0 1 0-50 0z',
    'M36 31a13 13 0 0 1 23-2M60 41a13 13 0 0 1-23 2M60 20v9h-9M36 52v-9h9',
  ],
} as const satisfies Readonly<Record<string, readonly [shape: string, lines: string]>>

type PictureName = keyof typeof PICTURES

/** A small drawing for a place without content. It has the colour of the text around it. */
function Picture({ name }: { readonly name: PictureName }) {
  const [shape, lines] = PICTURES[name]
  return (
    <svg viewBox="0 0 96 72" className="picture" aria-hidden="true" data-picture={name}>
      <path className="picture-shape" d={shape} />
      <path d={lines} />
    </svg>
  )
}

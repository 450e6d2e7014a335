import { ActionIcon, CloseButton, Drawer, Group, Switch, TextInput, Title, Tooltip } from '@mantine/core'
import { useHotkeys, useLocalStorage } from '@mantine/hooks'
import { type LinkProps, useNavigate, useRouter, useSearch } from '@tanstack/react-router'
import { type ReactNode, useCallback, useState } from 'react'
import { queryText } from '../../api/endpoint.ts'
import { ButtonLink, Press } from '../../parts/cells.tsx'
import { CopyId } from '../../parts/Copy.tsx'
import { dialogName } from '../../parts/Dialog.tsx'
import { tellDone } from '../../parts/Loaded.tsx'
import { NextIcon, PreviousIcon } from '../../parts/icons.ts'
import { type Search, useChange, useFilters } from '../../parts/list-place.ts'
import { t } from '../../parts/words.ts'
import { type Line, LogRows, type LogRowsProps } from './LogRows.tsx'
import css from './log.module.css'

/** The addresses of the two views of a side's log. */
const VIEWS = {
  log: ['/log', '/log/refused'],
  requests: ['/operator/requests', '/operator/refusals', '/operator/videos'],
} as const
const VIEW_NAMES = ['log.all', 'refused.title', 'parked.title'] as const

/** The views of the log beside each other: requests, and what was refused before it was one. */
export function LogTabs({ of, at }: { readonly of: keyof typeof VIEWS; readonly at: 0 | 1 | 2 }) {
  return (
    <Group gap={4} component="nav" aria-label={t('nav.log')}>
      {VIEWS[of].map((to, index) => (
        <ButtonLink
          key={to}
          to={to as NonNullable<LinkProps['to']>}
          size="compact-sm"
          variant={index === at ? 'light' : 'subtle'}
          {...(index === at ? { 'aria-current': 'page' } : {})}
        >
          {t(VIEW_NAMES[index] ?? 'log.all')}
        </ButtonLink>
      ))}
    </Group>
  )
}

/** The filters of the address, without what belongs to the page. */
function filtersOf({ offset: _offset, request: _request, ...filters }: Search): Search {
  return filters
}

interface LogProps extends Omit<LogRowsProps, 'opened' | 'open' | 'addressOf'> {
  /** The content of the drawer. */
  readonly story: (id: string) => ReactNode
}

/**
 * The rows, and the request that is opened over them. J and K go to the next and the previous one. The open request is
 * in the address.
 */
export function Log({ story, ...rows }: LogProps) {
  const search: Search = useSearch({ strict: false })
  const router = useRouter()
  const change = useChange()
  const opened = search['request'] ?? null
  const at = rows.lines.findIndex(({ id }) => id === opened)
  const open = (id: string): void => change({ request: id }, false)
  const goTo = (line: Line | undefined): (() => void) | null =>
    line === undefined || (opened !== null && at === -1) ? null : () => change({ request: line.id }, opened === null)
  const [next, previous] = [goTo(rows.lines[at + 1]), goTo(at < 1 ? undefined : rows.lines[at - 1])]
  // By the place of the key, whatever the layout of the keyboard.
  useHotkeys([
    ['j', () => next?.(), { usePhysicalKeys: true }],
    ['k', () => previous?.(), { usePhysicalKeys: true }],
  ])
  const filters = queryText(filtersOf(search))
  const to = VIEWS[rows.name][0]
  const addressOf = useCallback(
    (id: string) =>
      `${to}${router.options.stringifySearch({ ...Object.fromEntries(new URLSearchParams(filters)), request: id })}`,
    [router, filters, to],
  )
  return (
    <>
      <LogRows {...rows} opened={opened} open={open} addressOf={addressOf} />
      <Drawer
        {...dialogName('request')}
        opened={opened !== null}
        // The Escape key closes only the dialog that is open over it.
        onClose={() => document.querySelectorAll('[role=dialog]').length === 1 && change({ request: null })}
        position="right"
        size={720}
        padding="lg"
        title={
          <Group gap={6}>
            <Title order={2} size="h3">
              {t('request.title')}
            </Title>
            <Step label={t('common.previous')} go={previous} icon={<PreviousIcon size={18} />} />
            <Step label={t('common.next')} go={next} icon={<NextIcon size={18} />} />
          </Group>
        }
      >
        {opened !== null && (
          <div key={opened} className={css.story}>
            <Group gap={4}>
              <CopyId id={opened} />
            </Group>
            {story(opened)}
          </div>
        )}
      </Drawer>
    </>
  )
}

interface StepProps {
  readonly label: string
  readonly go: (() => void) | null
  readonly icon: ReactNode
}

function Step({ label, go, icon }: StepProps) {
  return (
    <Tooltip label={label}>
      <ActionIcon variant="default" aria-label={label} disabled={go === null} onClick={() => go?.()}>
        {icon}
      </ActionIcon>
    </Tooltip>
  )
}

interface LogActionsProps {
  readonly name: keyof typeof VIEWS
  readonly live: boolean
  readonly setLive: (live: boolean) => void
  /** The rows are not the newest, so they stay as they are. */
  readonly still?: boolean
}

interface View {
  readonly name: string
  /** The filters as a query. */
  readonly query: string
}

/** Whether the list updates itself, and views: filters that this browser keeps under a name. */
export function LogActions({ name, live, setLive, still = false }: LogActionsProps) {
  const search: Search = useSearch({ strict: false })
  const { clear } = useFilters()
  const navigate = useNavigate()
  const [views, setViews] = useLocalStorage<readonly View[]>({
    key: `tollgate-views-${name}`,
    defaultValue: [],
    getInitialValueInEffect: false,
  })
  const [naming, setNaming] = useState<string | null>(null)
  const query = queryText(filtersOf(search))
  const save = (): void => {
    const own = naming?.trim() ?? ''
    if (own !== '') setViews([...views.filter((view) => view.name !== own), { name: own, query }])
    setNaming(null)
  }
  return (
    <div className={css.views}>
      <Switch
        size="xs"
        label={t('log.live')}
        checked={live && !still}
        disabled={still}
        onChange={({ currentTarget }) => setLive(currentTarget.checked)}
      />
      {views.map((view) => (
        <Group key={view.name} gap={0} wrap="nowrap">
          <Press
            size="compact-xs"
            variant={view.query === query ? 'light' : 'default'}
            onClick={() => void navigate({ to: '.', search: Object.fromEntries(new URLSearchParams(view.query)) })}
            text={view.name}
          />
          <CloseButton
            size="xs"
            aria-label={t('log.view_drop', { name: view.name })}
            onClick={() => {
              setViews(views.filter((other) => other !== view))
              tellDone(t('log.view_dropped', { name: view.name }), () => setViews(views))
            }}
          />
        </Group>
      ))}
      {query !== '' && <Press size="compact-xs" variant="subtle" onClick={clear} text={t('log.clear')} />}
      {query !== '' && naming === null && !views.some((view) => view.query === query) && (
        <Press size="compact-xs" variant="subtle" onClick={() => setNaming('')} text={t('log.view_save')} />
      )}
      {naming !== null && (
        <TextInput
          autoFocus
          size="xs"
          aria-label={t('log.view_name')}
          placeholder={t('log.view_name')}
          value={naming}
          onChange={({ currentTarget }) => setNaming(currentTarget.value)}
          onBlur={save}
          onKeyDown={({ key }) => {
            if (key === 'Enter') save()
            if (key === 'Escape') setNaming(null)
          }}
        />
      )}
    </div>
  )
}

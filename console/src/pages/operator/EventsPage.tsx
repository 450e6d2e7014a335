import { Button, Text, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import i18n from 'i18next'
import type { AuditEvent } from '../../../../src/admin/report-contract.ts'
import type { EventAction, EventActor } from '../../../../src/ledger/event-action.ts'
import { useRead } from '../../api/hooks.ts'
import { Dialog } from '../../parts/Dialog.tsx'
import { List } from '../../parts/List.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { Pager } from '../../parts/Pager.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'
import { OperatorPage } from './OperatorPage.tsx'

const PAGE_ROWS = 50
const TYPING_MS = 250
const FIELDS = ['actor', 'action', 'object'] as const
const NOTHING = { actor: '', action: '', object: '' }

/** Who changed what, and when: an append-only log. */
export function EventsPage(): ReactNode {
  const { t } = useTranslation()
  const search: Readonly<Partial<Record<(typeof FIELDS)[number], string | undefined>>> = useSearch({ strict: false })
  const navigate = useNavigate()
  const [filters, setFilters] = useState({ ...NOTHING, ...search })
  const [offset, setOffset] = useState(0)
  const [shown, setShown] = useState<AuditEvent | null>(null)
  const [settled] = useDebouncedValue(filters, TYPING_MS)
  const wanted = Object.fromEntries(Object.entries(settled).filter(([, value]) => value !== ''))
  const events = useRead('GET /admin/v1/events', { query: { ...wanted, limit: PAGE_ROWS, offset } }, { keep: true })
  const change = (name: (typeof FIELDS)[number], value: string): void => {
    setOffset(0)
    setFilters({ ...filters, [name]: value })
    void navigate({
      to: '/operator/events',
      search: { ...search, [name]: value === '' ? undefined : value },
      replace: true,
    })
  }
  return (
    <OperatorPage title={t('nav.events')} lead={t('events.lead')}>
      <div className={css.fields}>
        {FIELDS.map((name) => (
          <TextInput
            key={name}
            label={t(`events.${name}`)}
            description={name === 'action' ? t('events.action_hint') : undefined}
            value={filters[name]}
            onChange={({ currentTarget }) => change(name, currentTarget.value)}
          />
        ))}
      </div>
      <Loaded of={events} height={480}>
        {({ data, total }) => (
          <>
            <Rows events={data} show={setShown} />
            <Pager offset={offset} size={PAGE_ROWS} total={total} go={setOffset} />
          </>
        )}
      </Loaded>
      <Dialog
        opened={shown !== null}
        onClose={() => setShown(null)}
        size="xl"
        title={shown === null ? '' : `${actionText(shown.action)} · ${shown.object}`}
      >
        {shown !== null && (
          <div className={css.halves}>
            <Side title={t('events.before')} value={shown.before} />
            <Side title={t('events.after')} value={shown.after} />
          </div>
        )}
      </Dialog>
    </OperatorPage>
  )
}

function Rows({
  events,
  show,
}: {
  readonly events: readonly AuditEvent[]
  readonly show: (event: AuditEvent) => void
}): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  return (
    <List
      label={t('nav.events')}
      rows={events}
      rowId={({ id }) => id}
      empty={{ title: t('events.none') }}
      columns={[
        { id: 'at', title: t('log.time'), cell: ({ at }) => format.dateTime(at) },
        {
          id: 'actor',
          title: t('events.actor'),
          cell: ({ actor, ip }) => (
            <div>
              {actorText(actor)}
              {ip !== null && (
                <Text size="xs" c="dimmed">
                  {ip}
                </Text>
              )}
            </div>
          ),
        },
        {
          id: 'action',
          title: t('events.action'),
          cell: ({ action }) => (
            <div>
              {actionText(action)}
              <Text size="xs" c="dimmed">
                <code className={css.mono}>{action}</code>
              </Text>
            </div>
          ),
        },
        { id: 'object', title: t('events.object'), cell: ({ object }) => <code className={css.mono}>{object}</code> },
        {
          id: t('common.actions'),
          title: '',
          end: true,
          cell: (event) =>
            event.before === null && event.after === null ? (
              ''
            ) : (
              <Button size="compact-sm" variant="subtle" onClick={() => show(event)}>
                {t('events.change')}
              </Button>
            ),
        },
      ]}
    />
  )
}

function Side({ title, value }: { readonly title: string; readonly value: unknown }): ReactNode {
  return (
    <div>
      <Text fw={600} size="sm" mb={6}>
        {title}
      </Text>
      <code className={css.code} tabIndex={0} role="region" aria-label={title}>
        {value === null || value === undefined ? '–' : JSON.stringify(value, null, 2)}
      </code>
    </div>
  )
}

type ActionKey<A extends string> = A extends `${infer Left}.${infer Right}` ? `${Left}_${Right}` : A

/** The action in the reader's language. An action of another release stays a code. */
function actionText(action: EventAction): string {
  // A dot would separate the parts of a key, and each action has one.
  const name = action.replace('.', '_') as ActionKey<EventAction>
  return i18n.exists(`action.${name}`) ? i18n.t(`action.${name}`) : action
}

/** Who did it: a part of the server by its name, a person by their address. */
function actorText(actor: string): string {
  return isPart(actor) ? i18n.t(`actor.${actor}`) : actor
}

function isPart(actor: string): actor is EventActor {
  return /^[a-z]+$/.test(actor) && i18n.exists(`actor.${actor}`)
}

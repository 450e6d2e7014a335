import { Button, Text, TextInput } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import i18n from 'i18next'
import type { AuditEvent } from '../../../../src/api/admin/report-contract.ts'
import { EVENT_ACTIONS, type EventAction, type EventActor } from '../../../../src/ledger/event-action.ts'
import { useRead } from '../../api/hooks.ts'
import { ChoiceField, withChosen } from '../../parts/ChoiceField.tsx'
import { Clip } from '../../parts/Clip.tsx'
import { DataList, PAGE_ROWS } from '../../parts/DataList.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { fileAddress } from '../../parts/list-csv.ts'
import { sortOf, useFilters, useListPlace, useTyped } from '../../parts/list-place.ts'
import { Loaded } from '../../parts/Loaded.tsx'
import { Moment } from '../../parts/Moment.tsx'
import css from '../../style/layout.module.css'
import { OperatorPage } from './OperatorPage.tsx'

const FIELDS = ['actor', 'action', 'object'] as const

/** Who changed what, and when: an append-only log. */
export function EventsPage(): ReactNode {
  const { t } = useTranslation()
  const { filters, filter } = useFilters<(typeof FIELDS)[number]>()
  const { sort, offset } = useListPlace()
  const [shown, setShown] = useState<AuditEvent | null>(null)
  const query = {
    ...Object.fromEntries(FIELDS.flatMap((name) => (filters[name] === undefined ? [] : [[name, filters[name]]]))),
    ...sortOf(['at'], sort),
  }
  const events = useRead('GET /admin/v1/events', { query: { ...query, limit: PAGE_ROWS, offset } }, { keep: true })
  return (
    <OperatorPage title={t('nav.events')} lead={t('events.lead')}>
      <div className={css.fields}>
        <FilterField name="actor" value={filters.actor ?? ''} change={(value) => filter('actor', value)} />
        <ChoiceField
          label={t('events.action')}
          searchable
          value={filters.action ?? null}
          onChange={(value) => filter('action', value)}
          data={withChosen(
            EVENT_ACTIONS.map((value) => ({ value, label: actionText(value) })),
            filters.action,
          )}
        />
        <FilterField name="object" value={filters.object ?? ''} change={(value) => filter('object', value)} />
      </div>
      <Loaded of={events} height={480}>
        {({ data, total }) => (
          <Rows events={data} total={total} show={setShown} file={fileAddress('GET /admin/v1/events', { query })} />
        )}
      </Loaded>
      <Dialog
        name="event"
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

function FilterField({
  name,
  value,
  change,
}: {
  readonly name: 'actor' | 'object'
  readonly value: string
  readonly change: (value: string) => void
}): ReactNode {
  const { t } = useTranslation()
  const [text, setText] = useTyped(value, change)
  return (
    <TextInput
      label={t(`events.${name}`)}
      value={text}
      onChange={({ currentTarget }) => setText(currentTarget.value)}
    />
  )
}

interface RowsProps {
  readonly events: readonly AuditEvent[]
  readonly total: number
  readonly show: (event: AuditEvent) => void
  readonly file: string
}

function Rows({ events, total, show, file }: RowsProps): ReactNode {
  const { t } = useTranslation()
  return (
    <DataList
      name="events"
      label={t('nav.events')}
      rows={events}
      page={{ total }}
      file={file}
      rowId={({ id }) => id}
      empty={{ picture: 'log', title: t('events.none') }}
      columns={[
        {
          id: 'at',
          title: t('log.time'),
          ordered: true,
          value: ({ at }) => at,
          cell: ({ at }) => <Moment at={at} />,
        },
        {
          id: 'actor',
          title: t('events.actor'),
          value: ({ actor }) => actor,
          cell: ({ actor }) => <Clip text={actorText(actor)} />,
        },
        { id: 'ip', title: t('events.ip'), value: ({ ip }) => ip, cell: ({ ip }) => ip },
        {
          id: 'action',
          title: t('events.action'),
          value: ({ action }) => action,
          cell: ({ action }) => (
            <div>
              {actionText(action)}
              <Text size="xs" c="dimmed">
                <code className={css.mono}>{action}</code>
              </Text>
            </div>
          ),
        },
        {
          id: 'object',
          title: t('events.object'),
          value: ({ object }) => object,
          cell: ({ object }) => <Clip text={object} mono />,
        },
        {
          id: 'actions',
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

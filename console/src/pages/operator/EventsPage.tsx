import { Text } from '@mantine/core'
import i18n from 'i18next'
import { useState } from 'react'
import type { AuditEvent } from '../../../../src/api/admin/report-contract.ts'
import { EVENT_ACTIONS, type EventAction, type EventActor } from '../../../../src/ledger/event-action.ts'
import { ServerList } from '../../parts/DataList.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { t } from '../../parts/words.ts'
import { OperatorPage } from './OperatorPage.tsx'

/** Who changed what, and when: an append-only log. */
export function EventsPage() {
  const [shown, setShown] = useState<AuditEvent | null>(null)
  return (
    <OperatorPage title={t('nav.events')} lead={t('events.lead')}>
      <ServerList
        read="GET /admin/v1/events"
        filters={[
          { name: 'actor', label: t('events.actor') },
          {
            name: 'action',
            label: t('events.action'),
            data: EVENT_ACTIONS.map((value) => ({ value, label: actionText(value) })),
            open: true,
          },
          { name: 'object', label: t('events.object') },
        ]}
        height={480}
        name="events"
        label={t('nav.events')}
        empty={{ picture: 'log', title: t('events.none') }}
        columns={[
          { id: 'at', title: t('log.time'), as: 'moment', ordered: true, value: ({ at }) => at },
          { id: 'actor', title: t('events.actor'), as: 'clip', value: ({ actor }) => actorText(actor) },
          { id: 'ip', title: t('events.ip'), value: ({ ip }) => ip },
          {
            id: 'action',
            title: t('events.action'),
            value: 'action',
            cell: ({ action }) => actionText(action),
            code: ({ action }) => action,
          },
          { id: 'object', title: t('events.object'), as: 'mono', value: ({ object }) => object },
          {
            id: 'actions',
            acts: (event) => [
              (event.before !== null || event.after !== null) && {
                label: t('events.change'),
                run: () => setShown(event),
              },
            ],
          },
        ]}
      />
      <Dialog
        name="event"
        of={shown}
        close={() => setShown(null)}
        size="xl"
        title={shown === null ? '' : `${actionText(shown.action)} · ${shown.object}`}
      >
        {({ before, after }) => (
          <div className="halves">
            <Side title={t('events.before')} value={before} />
            <Side title={t('events.after')} value={after} />
          </div>
        )}
      </Dialog>
    </OperatorPage>
  )
}

function Side({ title, value }: { readonly title: string; readonly value: unknown }) {
  return (
    <div>
      <Text fw={600} size="sm" mb={6}>
        {title}
      </Text>
      <code className="code" tabIndex={0} role="region" aria-label={title}>
        {value === null || value === undefined ? '–' : JSON.stringify(value, null, 2)}
      </code>
    </div>
  )
}

type ActionKey<A extends string> = A extends `${infer Left}.${infer Right}` ? `${Left}_${Right}` : A

/** The action in the reader's language. An unknown action, of another release, stays a code. */
function actionText(action: EventAction): string {
  // In a key of the texts a dot would separate its parts; each action has one.
  const name = action.replace('.', '_') as ActionKey<EventAction>
  return i18n.exists(`action.${name}`) ? t(`action.${name}`) : action
}

/** Who made the change: the name of a part of the server, or a person's address. */
function actorText(actor: string): string {
  return isPart(actor) ? t(`actor.${actor}`) : actor
}

function isPart(actor: string): actor is EventActor {
  return /^[a-z]+$/.test(actor) && i18n.exists(`actor.${actor}`)
}

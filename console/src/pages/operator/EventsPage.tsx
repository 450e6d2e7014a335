import { Text } from '@mantine/core'
import { Link, type LinkProps } from '@tanstack/react-router'
import i18n from 'i18next'
import { useState } from 'react'
import type { AuditEvent } from '../../../../src/api/admin/report-contract.ts'
import { EVENT_ACTIONS, type EventAction, type EventActor } from '../../../../src/ledger/event-action.ts'
import { ServerList } from '../../parts/DataList.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { Note } from '../../parts/cells.tsx'
import { fieldName } from '../../parts/failure-text.ts'
import { accountAt } from '../../parts/row-link.ts'
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
        days
        height={480}
        name="events"
        label={t('nav.events')}
        empty={{ picture: 'log', title: t('events.none') }}
        columns={[
          { id: 'at', title: t('log.time'), as: 'moment', ordered: true, value: ({ at }) => at },
          {
            id: 'action',
            title: t('events.what'),
            wide: true,
            value: ({ actor, action, object }) => `${actorText(actor)}: ${actionText(action)}, ${object}`,
            cell: (event) => <Sentence event={event} />,
          },
          { id: 'ip', title: t('events.ip'), value: ({ ip }) => ip },
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

/** A sentence says so many changed fields; a dialog has them all. */
const FIELDS_MAX = 4
const VALUE_MAX = 60

/** Who did what to what, with what changed, as a sentence. */
function Sentence({ event: { actor, action, object, before, after } }: { readonly event: AuditEvent }) {
  const link = placeOf(action, object)
  const name = [after, before].map((side) => fieldsOf(side).get('name')).find((one) => typeof one === 'string') ?? ''
  const shown = object === 'settings' ? t('nav.service_settings') : name === '' ? object : String(name)
  const [old, now] = [fieldsOf(before), fieldsOf(after)]
  const changed = [...now].filter(([field, value]) => before !== null && !isSame(old.get(field), value))
  return (
    <>
      <b>{actorText(actor)}</b>: {actionText(action)}, {link === null ? shown : <Link {...link}>{shown}</Link>}
      {changed.slice(0, FIELDS_MAX).map(([field, value]) => (
        <Note key={field} size="xs">
          {t('events.changed', { field: fieldName(field), before: valueText(old.get(field)), after: valueText(value) })}
        </Note>
      ))}
    </>
  )
}

function fieldsOf(side: unknown): ReadonlyMap<string, unknown> {
  return new Map(typeof side === 'object' && side !== null && !Array.isArray(side) ? Object.entries(side) : [])
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one ?? null) === JSON.stringify(other ?? null)
}

function valueText(value: unknown): string {
  const text = value === null || value === undefined ? '–' : typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > VALUE_MAX ? `${text.slice(0, VALUE_MAX)}…` : text
}

/** The page of what was changed; null = it has none. */
function placeOf(action: EventAction, object: string): LinkProps | null {
  switch (action.split('.')[0]) {
    case 'account':
    case 'ledger':
      return accountAt(object)
    case 'model':
      return { to: '/operator/prices', search: { query: object } }
    case 'provider':
      return { to: '/operator/providers' }
    case 'settings':
      return { to: '/operator/settings' }
    case 'catalog':
      return { to: '/operator/catalog' }
    case 'code':
      return { to: '/operator/codes' }
    case 'user':
      return { to: '/operator/users' }
    default:
      return null
  }
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
export function actorText(actor: string): string {
  return isPart(actor) ? t(`actor.${actor}`) : actor
}

function isPart(actor: string): actor is EventActor {
  return /^[a-z]+$/.test(actor) && i18n.exists(`actor.${actor}`)
}

import { Button, Switch } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Clip } from '../../parts/Clip.tsx'
import { DataList } from '../../parts/DataList.tsx'
import type { EmptyProps } from '../../parts/Loaded.tsx'
import { Moment } from '../../parts/Moment.tsx'
import { StatusBadge } from '../../parts/StatusBadge.tsx'
import css from '../../style/layout.module.css'
import { noticeText } from './notice-text.ts'
import type { Receiver, ReceiverWishes } from './receiver.ts'

interface ReceiverActs {
  readonly wishes: ReceiverWishes
  readonly edit: (receiver: Receiver) => void
  readonly confirm: (receiver: Receiver) => void
  readonly remove: (receiver: Receiver) => void
}

/** Receivers of notices. `acts`: null = they are only seen. */
export function ReceiverList({
  receivers,
  empty,
  acts,
}: {
  readonly receivers: readonly Receiver[]
  readonly empty: EmptyProps
  readonly acts: ReceiverActs | null
}): ReactNode {
  const { t } = useTranslation()
  const kindsOf = ({ kinds }: Receiver): string => kinds.map(noticeText).join(', ')
  return (
    <DataList
      name="receivers"
      prefix="receivers_"
      label={t('notices.receivers')}
      rows={receivers}
      rowId={({ id }) => id}
      empty={empty}
      hiddenAtFirst={['made']}
      columns={[
        {
          id: 'target',
          title: t('notices.target'),
          value: ({ target }) => target,
          cell: ({ target }) => <span className={css.mono}>{target}</span>,
        },
        {
          id: 'type',
          title: t('notices.type'),
          value: ({ type }) => t(`notices.${type}`),
          cell: ({ type }) => t(`notices.${type}`),
        },
        {
          id: 'kinds',
          title: t('notices.kinds'),
          wide: true,
          value: kindsOf,
          cell: (receiver) => <Clip text={kindsOf(receiver)} />,
        },
        {
          id: 'made',
          title: t('notices.made'),
          end: true,
          value: (receiver) => receiver.created_at,
          cell: (receiver) => <Moment at={receiver.created_at} as="date" />,
        },
        {
          id: 'enabled',
          title: t('notices.enabled'),
          value: ({ confirmed, enabled }) => confirmed !== false && enabled,
          cell: (receiver) => <State receiver={receiver} change={acts?.wishes.change ?? null} />,
        },
        {
          id: 'actions',
          title: '',
          end: true,
          cell: (receiver) => acts !== null && <Acts receiver={receiver} acts={acts} />,
        },
      ]}
    />
  )
}

function State({
  receiver: { id, target, enabled, confirmed },
  change,
}: {
  readonly receiver: Receiver
  readonly change: ReceiverWishes['change'] | null
}): ReactNode {
  const { t } = useTranslation()
  if (confirmed === false) return <StatusBadge tone="warn">{t('notices.unconfirmed')}</StatusBadge>
  return (
    <Switch
      size="sm"
      aria-label={t('notices.enabled_of', { target })}
      checked={enabled}
      disabled={change === null || change.isPending}
      onChange={({ currentTarget: { checked } }) => change?.run({ id, patch: { enabled: checked } })}
    />
  )
}

function Acts({ receiver, acts }: { readonly receiver: Receiver; readonly acts: ReceiverActs }): ReactNode {
  const { t } = useTranslation()
  const { id, target, confirmed } = receiver
  const { test, code } = acts.wishes
  return (
    <div className={css.acts}>
      {confirmed === false && code !== undefined && (
        <Button
          size="compact-sm"
          variant="light"
          aria-label={t('notices.confirm_of', { target })}
          onClick={() => acts.confirm(receiver)}
        >
          {t('notices.confirm')}
        </Button>
      )}
      {confirmed !== false && (
        <Button
          size="compact-sm"
          variant="subtle"
          disabled={test.isPending}
          aria-label={t('notices.test_of', { target })}
          onClick={() => test.run(id)}
        >
          {t('notices.test')}
        </Button>
      )}
      <Button
        size="compact-sm"
        variant="subtle"
        aria-label={`${t('common.edit')}: ${target}`}
        onClick={() => acts.edit(receiver)}
      >
        {t('common.edit')}
      </Button>
      <Button
        size="compact-sm"
        variant="subtle"
        color="red"
        aria-label={`${t('common.delete')}: ${target}`}
        onClick={() => acts.remove(receiver)}
      >
        {t('common.delete')}
      </Button>
    </div>
  )
}

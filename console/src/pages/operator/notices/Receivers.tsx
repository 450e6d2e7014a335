import { Button, Switch } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { OperatorChannel } from '../../../../../src/admin/notice-contract.ts'
import { useAct } from '../../../api/hooks.ts'
import { Can, useCan } from '../../../parts/Can.tsx'
import { Clip } from '../../../parts/Clip.tsx'
import { confirm } from '../../../parts/confirm.tsx'
import { DataList } from '../../../parts/DataList.tsx'
import { Moment } from '../../../parts/Moment.tsx'
import css from '../../../style/layout.module.css'
import { noticeText } from './notice-text.ts'

const RENEWS = ['GET /admin/v1/notices/channels', 'GET /admin/v1/notices/deliveries'] as const

/** The receivers of the operator's notices. */
export function Receivers({ receivers }: { readonly receivers: readonly OperatorChannel[] }): ReactNode {
  const { t } = useTranslation()
  const can = useCan()
  const change = useAct('PATCH /admin/v1/notices/channels/:id', { renews: RENEWS, said: t('common.saved') })
  const kindsOf = ({ kinds }: OperatorChannel): string => kinds.map(noticeText).join(', ')
  return (
    <DataList
      name="receivers"
      prefix="receivers_"
      label={t('notices.receivers')}
      rows={receivers}
      rowId={({ id }) => id}
      empty={{ title: t('notices.none'), text: t('notices.none_text') }}
      columns={[
        {
          id: 'target',
          title: t('notices.target'),
          value: ({ target }) => target,
          cell: ({ target }) => <Clip text={target} />,
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
          title: t('accounts.since'),
          end: true,
          value: (receiver) => receiver.created_at,
          cell: (receiver) => <Moment at={receiver.created_at} as="date" />,
        },
        {
          id: 'enabled',
          title: t('notices.enabled'),
          value: ({ enabled }) => enabled,
          cell: ({ id, target, enabled }) => (
            <Switch
              size="sm"
              aria-label={t('notices.enabled_of', { target })}
              checked={enabled}
              disabled={!can('PATCH /admin/v1/notices/channels/:id') || change.isPending}
              onChange={({ currentTarget: { checked } }) =>
                change.mutate({ params: { id }, body: { enabled: checked } })
              }
            />
          ),
        },
        {
          id: 'actions',
          title: '',
          end: true,
          cell: (receiver) => (
            <Can call="DELETE /admin/v1/notices/channels/:id">
              <Acts receiver={receiver} />
            </Can>
          ),
        },
      ]}
    />
  )
}

function Acts({ receiver: { id, target } }: { readonly receiver: OperatorChannel }): ReactNode {
  const { t } = useTranslation()
  const probe = useAct('POST /admin/v1/notices/channels/:id/test', { renews: RENEWS, said: t('notices.tested') })
  const remove = useAct('DELETE /admin/v1/notices/channels/:id', { renews: RENEWS, said: t('notices.deleted') })
  const ask = (): void =>
    confirm({
      title: t('notices.ask_delete', { target }),
      text: t('notices.ask_delete_text'),
      act: t('common.delete'),
      onConfirm: () => remove.mutate({ params: { id } }),
    })
  return (
    <div className={css.acts}>
      <Button
        size="compact-sm"
        variant="subtle"
        loading={probe.isPending}
        aria-label={t('notices.test_of', { target })}
        onClick={() => probe.mutate({ params: { id }, body: {} })}
      >
        {t('notices.test')}
      </Button>
      <Button
        size="compact-sm"
        variant="subtle"
        color="red"
        aria-label={`${t('common.delete')}: ${target}`}
        onClick={ask}
      >
        {t('common.delete')}
      </Button>
    </div>
  )
}

import { ActionIcon, Button, Menu } from '@mantine/core'
import { useSearch } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Key, NewKey } from '../../../../src/api/cabinet/key-contract.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { ChoiceField, withChosen } from '../../parts/ChoiceField.tsx'
import { Clip } from '../../parts/Clip.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { confirm } from '../../parts/confirm.tsx'
import {
  EditIcon,
  LogIcon,
  MoreIcon,
  PlaygroundIcon,
  PlusIcon,
  PowerIcon,
  RotateIcon,
  TrashIcon,
} from '../../parts/icons.ts'
import { useMay } from '../../parts/may.ts'
import { MenuItemLink } from '../../parts/MenuItemLink.tsx'
import { DataList } from '../../parts/DataList.tsx'
import { useFilters } from '../../parts/list-place.ts'
import type { Column } from '../../parts/List.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { Moment } from '../../parts/Moment.tsx'
import { onDemand } from '../../parts/OnDemand.tsx'
import { Page } from '../../parts/Page.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'
import { KeyName, KeyPace, keyState, KeyState, KeyUsage } from './KeyUsage.tsx'
import { ManagementKeys } from './ManagementKeys.tsx'
import { RotateDialog } from './RotateDialog.tsx'
import { ShownOnce } from './ShownOnce.tsx'
import { UseItWith } from './UseItWith.tsx'

/** Loaded when a key is created or edited: its calendar and pickers are a fifth of the page. */
const KeyForm = onDemand('KeyForm', async () => (await import('./KeyForm.tsx')).KeyForm, 360)

/** The account's API keys. */
export function KeysPage(): ReactNode {
  const { t } = useTranslation()
  const { create } = useSearch({ strict: false })
  const may = useMay()
  const keys = useRead('GET /cabinet/v1/keys', {})
  const [edited, setEdited] = useState<Key | 'new' | null>(create === undefined ? null : 'new')
  const [made, setMade] = useState<NewKey | null>(null)
  const [used, setUsed] = useState<Key | null>(null)
  const [rotated, setRotated] = useState<Key | null>(null)
  const close = (): void => setEdited(null)
  const add = may('keys:write') && (
    <Button leftSection={<PlusIcon size={17} />} onClick={() => setEdited('new')}>
      {t('keys.create')}
    </Button>
  )
  return (
    <Page title={t('nav.keys')} lead={t('keys.lead')} actions={add}>
      <Loaded of={keys} height={320}>
        {({ data }) => <KeyList keys={data} edit={setEdited} use={setUsed} rotate={setRotated} />}
      </Loaded>
      <Dialog
        name="key"
        opened={edited !== null}
        onClose={close}
        title={edited === 'new' ? t('keys.create') : t('keys.edit')}
        size="lg"
      >
        {edited !== null && (
          <KeyForm
            edited={edited === 'new' ? null : edited}
            done={(answer) => {
              close()
              if ('key' in answer) setMade(answer)
            }}
          />
        )}
      </Dialog>
      <Dialog
        name="key-use"
        opened={used !== null}
        onClose={() => setUsed(null)}
        title={t('keys.settings_of', { name: used?.name ?? '' })}
        size="lg"
      >
        {used !== null && <UseItWith />}
      </Dialog>
      {rotated !== null && (
        <RotateDialog
          apiKey={rotated}
          close={() => setRotated(null)}
          done={(answer) => {
            setRotated(null)
            setMade(answer)
          }}
        />
      )}
      {may('programs:write') && <ManagementKeys />}
      <ShownOnce made={made} close={() => setMade(null)} />
    </Page>
  )
}

interface KeyActs {
  readonly edit: (key: Key | 'new') => void
  readonly use: (key: Key) => void
  readonly rotate: (key: Key) => void
}

interface KeyListProps extends KeyActs {
  readonly keys: readonly Key[]
}

/** The keys, or those of one person where several make keys. */
function KeyList({ keys, ...acts }: KeyListProps): ReactNode {
  const { t } = useTranslation()
  const may = useMay()
  const { filters, filter } = useFilters<'by'>()
  const { by } = filters
  const makers = new Set(keys.map(({ made_by: maker }) => maker))
  const isShared = by !== undefined || makers.size > 1
  const columns = useColumns(acts, isShared)
  const people = [...makers].filter((maker) => maker !== null).toSorted()
  const first = may('keys:write') && (
    <Button mt="sm" onClick={() => acts.edit('new')}>
      {t('keys.create')}
    </Button>
  )
  return (
    <>
      {isShared && (
        <ChoiceField
          label={t('keys.made_by')}
          className={css.narrow ?? ''}
          value={by ?? null}
          onChange={(wish) => filter('by', wish)}
          data={withChosen(
            people.map((email) => ({ value: email, label: email })),
            by,
          )}
        />
      )}
      <DataList
        name="keys"
        hiddenAtFirst={['created']}
        label={t('nav.keys')}
        rows={by === undefined ? keys : keys.filter(({ made_by: maker }) => maker === by)}
        rowId={({ id }) => id}
        empty={
          by === undefined
            ? { picture: 'key', title: t('keys.none'), text: t('keys.none_text'), action: first }
            : { picture: 'key', title: t('keys.none_by', { email: by }) }
        }
        columns={columns}
      />
    </>
  )
}

function useColumns({ edit, use, rotate }: KeyActs, isShared: boolean): readonly Column<Key>[] {
  const { t } = useTranslation()
  const format = useFormat()
  const may = useMay()
  const maker: Column<Key> = {
    id: 'by',
    title: t('keys.made_by'),
    value: ({ made_by: by }) => by,
    cell: ({ made_by: by }) => (by === null ? '–' : <Clip text={by} />),
  }
  return [
    { id: 'name', title: t('keys.name'), value: ({ name }) => name, cell: (key) => <KeyName apiKey={key} /> },
    ...(isShared ? [maker] : []),
    {
      id: 'state',
      title: t('keys.state'),
      value: (key) => t(`keys.${keyState(key)}`),
      cell: (key) => <KeyState apiKey={key} />,
    },
    {
      id: 'usage',
      title: t('keys.usage_limit'),
      wide: true,
      value: ({ usage }) => usage,
      cell: (key) => <UsageAndPace apiKey={key} />,
    },
    {
      id: 'month',
      title: t('keys.month'),
      end: true,
      value: (key) => key.usage_monthly,
      cell: (key) => format.moneyInColumn(key.usage_monthly),
    },
    {
      id: 'used',
      title: t('keys.last_used'),
      end: true,
      value: (key) => key.last_used_at,
      cell: ({ last_used_at: used }) => (used === null ? t('keys.never') : <Moment at={used} as="ago" />),
    },
    {
      id: 'created',
      title: t('keys.created'),
      end: true,
      value: (key) => key.created_at,
      cell: (key) => <Moment at={key.created_at} as="date" />,
    },
    {
      id: 'actions',
      title: '',
      end: true,
      cell: (key) => may('keys:write') && <KeyMenu apiKey={key} edit={edit} use={use} rotate={rotate} />,
    },
  ]
}

function UsageAndPace({ apiKey }: { readonly apiKey: Key }): ReactNode {
  return (
    <>
      <KeyUsage apiKey={apiKey} />
      <KeyPace apiKey={apiKey} />
    </>
  )
}

function KeyMenu({ apiKey, edit, use, rotate }: KeyActs & { readonly apiKey: Key }): ReactNode {
  const { t } = useTranslation()
  const renews = ['GET /cabinet/v1/keys', 'GET /cabinet/v1/summary'] as const
  const change = useAct('PATCH /cabinet/v1/keys/:id', { renews, said: t('common.saved') })
  const remove = useAct('DELETE /cabinet/v1/keys/:id', { renews, said: t('keys.deleted') })
  const params = { id: apiKey.id }
  const ask = (): void =>
    confirm({
      name: 'key-delete',
      title: t('keys.delete_title', { name: apiKey.name }),
      text: t('keys.delete_text'),
      act: t('common.delete'),
      onConfirm: () => remove.mutate({ params }),
    })
  return (
    <Menu position="bottom-end" width={210}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={t('keys.actions_of', { name: apiKey.name })}>
          <MoreIcon size={18} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<EditIcon size={16} />} onClick={() => edit(apiKey)}>
          {t('common.edit')}
        </Menu.Item>
        <Menu.Item leftSection={<PlaygroundIcon size={16} />} onClick={() => use(apiKey)}>
          {t('keys.use_with')}
        </Menu.Item>
        <Menu.Item leftSection={<RotateIcon size={16} />} onClick={() => rotate(apiKey)}>
          {t('keys.rotate')}
        </Menu.Item>
        <MenuItemLink leftSection={<LogIcon size={16} />} to="/log" search={{ key: apiKey.id }}>
          {t('keys.requests')}
        </MenuItemLink>
        <Menu.Item
          leftSection={<PowerIcon size={16} />}
          onClick={() => change.mutate({ params, body: { disabled: !apiKey.disabled } })}
        >
          {apiKey.disabled ? t('keys.enable') : t('keys.disable')}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item color="red" leftSection={<TrashIcon size={16} />} onClick={ask}>
          {t('common.delete')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

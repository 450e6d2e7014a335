import { ActionIcon, Select, Text, TextInput } from '@mantine/core'
import { useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import type { Key, Keys, NewKey } from '../../../../src/api/cabinet/key-contract.ts'
import { given } from '../../api/endpoint.ts'
import { switchedBack, useAct, useRead } from '../../api/hooks.ts'
import { DataList, ReadList } from '../../parts/DataList.tsx'
import { AddButton, Dialog, Secret } from '../../parts/Dialog.tsx'
import { Filters } from '../../parts/Filters.tsx'
import { Form, useCall } from '../../parts/Form.tsx'
import type { Column } from '../../parts/List.tsx'
import { type EmptyProps, Loaded } from '../../parts/Loaded.tsx'
import { onDemand } from '../../parts/OnDemand.tsx'
import { Page, Section } from '../../parts/Page.tsx'
import { EditIcon, LogIcon, PlaygroundIcon, PowerIcon, RotateIcon, TrashIcon } from '../../parts/icons.ts'
import { useFilters, useListRead } from '../../parts/list-place.ts'
import { RowMenu } from '../../parts/RowMenu.tsx'
import { t } from '../../parts/words.ts'
import { useMay } from '../../session.tsx'
import { type AnyKey, keyRoutes } from './key-routes.ts'
import { KeyPace, keyColumns } from './KeyUsage.tsx'
import { ShownOnce, UseItWith } from './ShownOnce.tsx'
import { Press } from '../../parts/cells.tsx'

/** Loaded when a key is created or edited: its calendar and pickers are a fifth of the page's code. */
const KeyForm = onDemand('KeyForm', () => import('./KeyForm.tsx'), 360)

/** The dialog that is open over the list of keys. */
export type Opened =
  | { readonly dialog: 'edit' | 'use' | 'rotate'; readonly apiKey: AnyKey }
  | { readonly dialog: 'new' }
  | { readonly dialog: 'made'; readonly made: NewKey }

/** The account of the keys, for the operator; absent = the own one. */
interface Of {
  readonly account?: string
}

/** The account's API keys. */
export function KeysPage() {
  const { create } = useSearch({ strict: false })
  const may = useMay()
  const keys = useListRead('GET /cabinet/v1/keys', ({ by, search }) => ({ query: given({ by, search }) }))
  const [opened, open] = useState<Opened | null>(create === undefined ? null : { dialog: 'new' })
  return (
    <Page
      title={t('nav.keys')}
      lead={t('keys.lead')}
      actions={may('keys:write') && <AddButton onClick={() => open({ dialog: 'new' })}>{t('keys.create')}</AddButton>}
    >
      <Loaded of={keys} height={320}>
        {(page) => <KeyList page={page} open={open} />}
      </Loaded>
      <KeyDialogs opened={opened} open={open} />
      {may('programs:write') && <ManagementKeys />}
    </Page>
  )
}

interface KeyDialogsProps extends Of {
  readonly opened: Opened | null
  readonly open: (opened: Opened | null) => void
}

/** The forms of a list of keys, and a new key in full. */
export function KeyDialogs({ opened, open, ...of }: KeyDialogsProps) {
  const close = (): void => open(null)
  const shown = (dialog: 'use' | 'rotate'): AnyKey | null => (opened?.dialog === dialog ? opened.apiKey : null)
  const edited: AnyKey | 'new' | null =
    opened?.dialog === 'new' ? 'new' : opened?.dialog === 'edit' ? opened.apiKey : null
  const [used, rotated] = [shown('use'), shown('rotate')]
  return (
    <>
      <Dialog
        name="key"
        of={edited}
        close={close}
        title={edited === 'new' ? t('keys.create') : t('keys.edit')}
        size="lg"
      >
        {(key) => (
          <KeyForm
            edited={key === 'new' ? null : key}
            {...of}
            done={(answer) => open('key' in answer ? { dialog: 'made', made: answer } : null)}
          />
        )}
      </Dialog>
      <Dialog
        name="key-use"
        of={used}
        close={close}
        title={t('keys.settings_of', { name: used?.name ?? '' })}
        size="lg"
      >
        <UseItWith />
      </Dialog>
      <Dialog
        name="key-rotate"
        of={rotated}
        close={close}
        title={t('keys.rotate_title', { name: rotated?.name ?? '' })}
      >
        {(key) => <RotateForm apiKey={key} {...of} close={close} done={(made) => open({ dialog: 'made', made })} />}
      </Dialog>
      <ShownOnce made={opened?.dialog === 'made' ? opened.made : null} close={close} isOwn={of.account === undefined} />
    </>
  )
}

interface KeyListProps {
  readonly page: Keys
  readonly open: (opened: Opened) => void
}

/**
 * The newest keys; filtered by the person who made them if several people make keys, or by name if programs make many.
 */
function KeyList({ page: { data: keys, total, makers }, open }: KeyListProps) {
  const may = useMay()
  const { by, search } = useFilters<'by' | 'search'>().filters
  const isShared = by !== undefined || makers.length > 1
  const columns = useColumns(open, isShared)
  const people = makers.filter((maker) => maker !== null).toSorted()
  const ofName = { name: 'search', description: t('keys.newest', { shown: keys.length, total }) }
  const ofMaker = {
    name: 'by',
    label: t('keys.made_by'),
    data: people.map((email) => ({ value: email, label: email })),
    open: true,
  }
  const emptyOf = (): EmptyProps => {
    if (search !== undefined) return { picture: 'key', title: t('keys.none_found') }
    if (by !== undefined) return { picture: 'key', title: t('keys.none_by', { email: by }) }
    return { picture: 'key', title: t('keys.none'), text: t('keys.none_text'), action: first }
  }
  const first = may('keys:write') && <Press mt="sm" onClick={() => open({ dialog: 'new' })} text={t('keys.create')} />
  return (
    <>
      <Filters
        of={[...(total > keys.length || search !== undefined ? [ofName] : []), ...(isShared ? [ofMaker] : [])]}
      />
      <DataList
        name="keys"
        hiddenAtFirst={['created']}
        label={t('nav.keys')}
        rows={keys}
        empty={emptyOf()}
        columns={columns}
      />
    </>
  )
}

function useColumns(open: KeyListProps['open'], isShared: boolean): readonly Column<Key>[] {
  const may = useMay()
  const { name, state, usage, used } = keyColumns()
  const maker: Column<Key> = { id: 'by', title: t('keys.made_by'), as: 'clip', none: '–', value: 'made_by' }
  return [
    name,
    ...(isShared ? [maker] : []),
    state,
    { ...usage, under: (key) => <KeyPace apiKey={key} /> },
    { id: 'month', title: t('keys.month'), as: 'money', value: 'usage_monthly' },
    used,
    { id: 'created', title: t('keys.created'), as: 'date', value: 'created_at' },
    {
      id: 'actions',
      end: true,
      cell: (key) =>
        may('keys:write') && <KeyMenu apiKey={key} open={open} may={{ change: true, rotate: key.own, remove: true }} />,
    },
  ]
}

interface KeyMenuProps extends Of {
  readonly apiKey: AnyKey
  readonly open: (opened: Opened) => void
  /** What the reader may do besides switching the key off and on. */
  readonly may: { readonly change: boolean; readonly rotate: boolean; readonly remove: boolean }
}

export function KeyMenu({ apiKey, open, may, account }: KeyMenuProps) {
  const { id, name, disabled } = apiKey
  const { renews, ...routes } = keyRoutes(account)
  const change = useAct(routes.change, {
    renews,
    said: ({ body }) => t(body?.disabled === true ? 'keys.now_disabled' : 'keys.now_enabled', { name }),
    undo: switchedBack,
  })
  const remove = useAct(routes.remove, { renews, said: t('keys.deleted') })
  const ask = (): void =>
    remove.ask({
      name: 'key-delete',
      title: t('keys.delete_title', { name }),
      text: t('keys.delete_text'),
      input: { params: { id } },
    })
  const isOwn = account === undefined
  return (
    <RowMenu
      label={t('keys.actions_of', { name })}
      entries={[
        may.change && {
          label: t('common.edit'),
          icon: <EditIcon size={16} />,
          act: () => open({ dialog: 'edit', apiKey }),
        },
        isOwn && {
          label: t('keys.use_with'),
          icon: <PlaygroundIcon size={16} />,
          act: () => open({ dialog: 'use', apiKey }),
        },
        may.rotate && {
          label: t('keys.rotate'),
          icon: <RotateIcon size={16} />,
          act: () => open({ dialog: 'rotate', apiKey }),
        },
        {
          label: t('keys.requests'),
          icon: <LogIcon size={16} />,
          to: isOwn ? { to: '/log', search: { key: id } } : { to: '/operator/requests', search: { account, key: id } },
        },
        {
          label: disabled ? t('keys.enable') : t('keys.disable'),
          icon: <PowerIcon size={16} />,
          act: () => change.mutate({ params: { id }, body: { disabled: !disabled } }),
        },
        may.remove && 'line',
        may.remove && { label: t('common.delete'), icon: <TrashIcon size={16} />, harmful: true, act: ask },
      ]}
    />
  )
}

/** Seconds, each with the name of its text. */
const GRACES = [
  ['86400', 'day'],
  ['3600', 'hour'],
  ['604800', 'week'],
  ['2592000', 'month'],
  ['0', 'none'],
] as const

interface RotateFormProps extends Of {
  readonly apiKey: AnyKey
  readonly close: () => void
  readonly done: (made: NewKey) => void
}

/** A new secret for a key: programs can switch to it while the old one still works. */
function RotateForm({ apiKey: { id }, account, close, done }: RotateFormProps) {
  const { renews, rotate } = keyRoutes(account)
  const form = useCall(rotate, {
    renews,
    done,
    first: { grace: String(GRACES[0][0]) },
    input: ({ grace }) => ({ params: { id }, body: { grace_seconds: Number(grace) } }),
  })
  return (
    <Form of={form} form="dialog" act={t('keys.rotate_act')} cancel={close}>
      <Text size="sm">{t('keys.rotate_text')}</Text>
      <Select
        label={t('keys.grace')}
        data={GRACES.map(([value, name]) => ({ value, label: t(`keys.grace_${name}`) }))}
        {...form.field('grace')}
      />
    </Form>
  )
}

const RENEWS = ['GET /cabinet/v1/management-keys'] as const

/** Keys for programs that make and change the account's API keys. */
function ManagementKeys() {
  const keys = useRead('GET /cabinet/v1/management-keys', {})
  const [making, setMaking] = useState(false)
  const close = (): void => setMaking(false)
  const remove = useAct('DELETE /cabinet/v1/management-keys/:id', { renews: RENEWS, said: t('keys.deleted') })
  const ask = (id: string, name: string): void =>
    remove.ask({
      name: 'management-key-delete',
      title: t('keys.delete_title', { name }),
      text: t('keys.management_delete_text'),
      input: { params: { id } },
    })
  return (
    <Section
      title={t('keys.management')}
      lead={t('keys.management_lead')}
      actions={
        <AddButton variant="default" onClick={() => setMaking(true)}>
          {t('keys.management_create')}
        </AddButton>
      }
    >
      <ReadList
        name="management-keys"
        prefix="management-"
        label={t('keys.management')}
        of={keys}
        height={120}
        empty={{ picture: 'key', title: t('keys.none') }}
        columns={[
          { id: 'name', title: t('keys.name'), value: 'name', code: ({ label }) => label },
          { id: 'used', title: t('keys.last_used'), as: 'ago', value: 'last_used_at' },
          {
            id: 'actions',
            end: true,
            cell: ({ id, name }) => (
              <ActionIcon
                variant="subtle"
                color="gray"
                aria-label={t('keys.management_delete', { name })}
                onClick={() => ask(id, name)}
              >
                <TrashIcon size={16} />
              </ActionIcon>
            ),
          },
        ]}
      />
      <Dialog name="management-key" of={making} close={close} title={t('keys.management_create')}>
        <ManagementKeyForm close={close} />
      </Dialog>
    </Section>
  )
}

/** Asks for a name, then shows the key this one time. */
function ManagementKeyForm({ close }: { readonly close: () => void }) {
  const form = useCall('POST /cabinet/v1/management-keys', {
    renews: RENEWS,
    first: { name: '' },
    input: ({ name }) => ({ body: { name: name.trim() } }),
  })
  if (form.answer !== undefined)
    return (
      <Secret
        text={form.answer.key}
        label={t('keys.key')}
        warning={t('keys.shown_once')}
        kept={t('keys.kept')}
        close={close}
      />
    )
  return (
    <Form of={form} form="dialog" act={t('keys.management_create')} look={{ disabled: form.values.name.trim() === '' }}>
      <TextInput label={t('keys.name')} required data-autofocus {...form.field('name')} />
    </Form>
  )
}

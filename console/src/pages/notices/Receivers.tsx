import { Button, Checkbox, SegmentedControl, Select, Switch, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ownValue } from '../../../../src/base/own-value.ts'
import type { NoticeChannel, NoticeChannelBody } from '../../../../src/notices/contract.ts'
import { ACCOUNT_KINDS, CHOSEN_KINDS, type NoticeKind, NOTICES } from '../../../../src/tables/notice-table.ts'
import { useAct } from '../../api/hooks.ts'
import { currentLanguage } from '../../i18n.ts'
import { StatusBadge } from '../../parts/cells.tsx'
import { DataList } from '../../parts/DataList.tsx'
import { AddButton, Dialog, Secret } from '../../parts/Dialog.tsx'
import { Form, useCall } from '../../parts/Form.tsx'
import type { EmptyProps } from '../../parts/Loaded.tsx'
import { NumberField } from '../../parts/NumberField.tsx'
import { numberOf } from '../../parts/number-text.ts'
import { Section } from '../../parts/Page.tsx'
import { useSession } from '../../session.tsx'
import { format, t } from '../../parts/words.ts'

const TYPES = ['email', 'telegram', 'webhook'] as const

/**
 * The endpoints for the receivers of each owner, and the reads that a change makes out of date. The routes differ only
 * in their paths.
 */
const PLACES = {
  operator: {
    kinds: CHOSEN_KINDS,
    channels: '/admin/v1/notices/channels',
    renews: ['GET /admin/v1/notices/channels', 'GET /admin/v1/notices/deliveries'],
  },
  account: {
    kinds: ACCOUNT_KINDS,
    channels: '/admin/v1/accounts/:id/notices/channels',
    renews: ['GET /admin/v1/accounts/:id/notices', 'GET /admin/v1/notices/deliveries'],
  },
  own: {
    kinds: ACCOUNT_KINDS,
    channels: '/cabinet/v1/notices/channels',
    renews: ['GET /cabinet/v1/notices', 'GET /cabinet/v1/notices/deliveries'],
  },
} as const

interface Place {
  readonly place: keyof typeof PLACES
  /** The account of the receivers, on the operator's page of that account. */
  readonly account?: string | undefined
}

function routesOf({ place, account }: Place) {
  const { channels, renews } = PLACES[place]
  const one = `${channels}/:${account === undefined ? 'id' : 'channel'}` as const
  return {
    renews,
    // Both routes have the same input and answer.
    add: `POST ${channels}` as 'POST /admin/v1/notices/channels',
    change: `PATCH ${one}` as 'PATCH /admin/v1/notices/channels/:id',
    remove: `DELETE ${one}` as 'DELETE /admin/v1/notices/channels/:id',
    test: `POST ${one}/test` as 'POST /admin/v1/notices/channels/:id/test',
    ofAll: account === undefined ? {} : { params: { id: account } },
    ofOne: (id: string) => ({ params: account === undefined ? { id } : { id: account, channel: id } }),
  }
}

/** The dialog that is open over the list of receivers. */
type Opened =
  | { readonly dialog: 'add' }
  | { readonly dialog: 'terms' | 'code'; readonly receiver: Receiver }
  | { readonly dialog: 'secret'; readonly secret: string }

interface ReceiversProps extends Place {
  readonly receivers: readonly Receiver[]
  readonly lead?: string
  readonly empty: EmptyProps
  /** The types that the service is configured for. */
  readonly types?: readonly ReceiverType[]
  /** Whether the reader may change receivers. */
  readonly mayChange: boolean
}

/** The receivers of the operator or of an account, and the forms that change them. */
export function Receivers({ lead, types = TYPES, ...list }: ReceiversProps) {
  const [opened, open] = useState<Opened | null>(null)
  return (
    <Section
      title={t('notices.receivers')}
      lead={lead}
      actions={list.mayChange && <AddButton onClick={() => open({ dialog: 'add' })}>{t('notices.add')}</AddButton>}
    >
      <ReceiverList {...list} open={open} />
      {list.mayChange && (
        <ReceiverDialogs opened={opened} open={open} types={types} place={list.place} account={list.account} />
      )}
    </Section>
  )
}

interface ReceiverListProps extends Omit<ReceiversProps, 'lead' | 'types'> {
  readonly open: (dialog: Opened) => void
}

function ReceiverList({ receivers, empty, mayChange, open, ...of }: ReceiverListProps) {
  const { renews, ofOne, ...routes } = routesOf(of)
  const remove = useAct(routes.remove, { renews, said: t('notices.deleted') })
  const test = useAct(routes.test, { renews, said: t('notices.tested') })
  const ask = ({ id, target }: Receiver): void =>
    remove.ask({
      name: 'receiver-delete',
      title: t('notices.ask_delete', { target }),
      text: t('notices.ask_delete_text'),
      input: ofOne(id),
    })
  const actOf = (label: string, { target }: Receiver) => ({ label, name: `${label}: ${target}` })
  return (
    <DataList
      name="receivers"
      prefix="receivers_"
      label={t('notices.receivers')}
      rows={receivers}
      empty={empty}
      hiddenAtFirst={['made']}
      columns={[
        {
          id: 'target',
          title: t('notices.target'),
          value: 'target',
          cell: ({ target }) => <span className="mono">{target}</span>,
        },
        { id: 'type', title: t('notices.type'), value: ({ type }) => t(`notices.${type}`) },
        {
          id: 'kinds',
          title: t('notices.kinds'),
          as: 'clip',
          wide: true,
          value: ({ kinds }) => kinds.map(noticeText).join(', '),
        },
        { id: 'made', title: t('notices.made'), as: 'date', value: 'created_at' },
        {
          id: 'enabled',
          title: t('notices.enabled'),
          value: ({ confirmed, enabled }) => confirmed !== false && enabled,
          cell: (receiver) => <State receiver={receiver} mayChange={mayChange} {...of} />,
        },
        {
          id: 'actions',
          acts: (receiver) => {
            const { id, target, confirmed } = receiver
            if (!mayChange) return []
            return [
              confirmed === false &&
                of.place === 'own' && {
                  label: t('notices.confirm'),
                  name: t('notices.confirm_of', { target }),
                  variant: 'light',
                  run: () => open({ dialog: 'code', receiver }),
                },
              confirmed !== false && {
                label: t('notices.test'),
                name: t('notices.test_of', { target }),
                disabled: test.isPending,
                run: () => test.mutate({ ...ofOne(id), body: {} }),
              },
              { ...actOf(t('common.edit'), receiver), run: () => open({ dialog: 'terms', receiver }) },
              { ...actOf(t('common.delete'), receiver), harmful: true, run: () => ask(receiver) },
            ]
          },
        },
      ]}
    />
  )
}

interface StateProps extends Place {
  readonly receiver: Receiver
  readonly mayChange: boolean
}

function State({ receiver: { id, target, enabled, confirmed }, mayChange, ...of }: StateProps) {
  const { renews, ofOne, ...routes } = routesOf(of)
  const change = useAct(routes.change, { renews, said: t('common.saved') })
  if (confirmed === false) return <StatusBadge tone="warn">{t('notices.unconfirmed')}</StatusBadge>
  return (
    <Switch
      size="sm"
      aria-label={t('notices.enabled_of', { target })}
      checked={enabled}
      disabled={!mayChange || change.isPending}
      onChange={({ currentTarget: { checked } }) => change.mutate({ ...ofOne(id), body: { enabled: checked } })}
    />
  )
}

interface ReceiverDialogsProps extends Place {
  readonly opened: Opened | null
  readonly open: (dialog: Opened | null) => void
  readonly types: readonly ReceiverType[]
}

function ReceiverDialogs({ opened, open, types, ...of }: ReceiverDialogsProps) {
  const close = (): void => open(null)
  const shown = (dialog: 'terms' | 'code'): Receiver | null => (opened?.dialog === dialog ? opened.receiver : null)
  const edited = shown('terms')
  const made = ({ secret, ...receiver }: MadeReceiver): void => {
    if (secret !== null) open({ dialog: 'secret', secret })
    else open(of.place === 'own' && receiver.confirmed === false ? { dialog: 'code', receiver } : null)
  }
  const editTitle = t('notices.edit', { target: edited?.target ?? '' })
  return (
    <>
      <Dialog name="receiver" of={opened?.dialog === 'add'} close={close} title={t('notices.add')} size="lg">
        <ReceiverForm allowed={types} done={made} {...of} />
      </Dialog>
      <Dialog name="receiver-terms" of={edited} close={close} title={editTitle} size="lg">
        {(receiver) => <TermsForm receiver={receiver} done={close} {...of} />}
      </Dialog>
      <Dialog name="receiver-code" of={shown('code')} close={close} title={t('notices.confirm_title')}>
        {(receiver) => <ConfirmForm receiver={receiver} done={close} />}
      </Dialog>
      <Dialog
        name="receiver-secret"
        of={opened?.dialog === 'secret' ? opened.secret : null}
        close={close}
        title={t('notices.secret')}
        size="lg"
        sealed
      >
        {(secret) => (
          <Secret
            text={secret}
            label={t('notices.secret')}
            warning={t('notices.secret_once')}
            kept={t('notices.secret_kept')}
            close={close}
          />
        )}
      </Dialog>
    </>
  )
}

interface ReceiverFormProps extends Place {
  readonly allowed: readonly ReceiverType[]
  readonly done: (made: MadeReceiver) => void
}

/** A form for a new receiver: its address, its kinds of notices, and its language. */
function ReceiverForm({ allowed, done, ...of }: ReceiverFormProps) {
  const { add, renews, ofAll } = routesOf(of)
  const { kinds } = PLACES[of.place]
  const types = TYPES.filter((known) => allowed.includes(known))
  const first: ReceiverTerms & { type: ReceiverType; target: string } = {
    type: types[0] ?? 'webhook',
    target: '',
    language: 'en',
    kinds,
  }
  const form = useCall(add, {
    renews,
    done,
    first,
    input: ({ target, language, ...body }) => ({
      ...ofAll,
      body: { ...body, target: target.trim(), ...(body.type === 'webhook' ? {} : { language }) },
    }),
  })
  const { type } = form.values
  const { set_up: ways } = useSession().service
  return (
    <Form of={form} form="dialog" act={t('notices.add')} look={{ disabled: form.values.kinds.length === 0 }}>
      <SegmentedControl
        data={types.map((value) => ({ value, label: t(`notices.${value}`) }))}
        aria-label={t('notices.type')}
        value={type}
        onChange={(wish) => form.set({ type: wish })}
      />
      <TextInput
        label={t(`notices.${type}_target`)}
        description={
          of.place === 'own'
            ? t(`notices.own_${type}_hint`)
            : t(`notices.${type}_${ways.includes(type) ? 'hint' : 'unset'}`)
        }
        required
        data-autofocus
        {...form.field('target')}
      />
      <TermsFields type={type} terms={form.values} change={form.set} kinds={kinds} />
    </Form>
  )
}

interface TermsFormProps extends Place {
  readonly receiver: Receiver
  readonly done: () => void
}

/** A form for other kinds or another language of a receiver; its address cannot be changed. */
function TermsForm({ receiver: { id, type, ...first }, done, ...of }: TermsFormProps) {
  const { change, renews, ofOne } = routesOf(of)
  const form = useCall(change, {
    renews,
    said: t('common.saved'),
    done,
    first: { kinds: first.kinds, language: first.language },
    input: ({ kinds, language }) => ({ ...ofOne(id), body: { kinds, ...(type === 'webhook' ? {} : { language }) } }),
  })
  return (
    <Form of={form} form="dialog" act={t('common.save')} look={{ disabled: form.values.kinds.length === 0 }}>
      <TermsFields type={type} terms={form.values} change={form.set} kinds={PLACES[of.place].kinds} />
    </Form>
  )
}

interface TermsFieldsProps {
  readonly type: ReceiverType
  readonly terms: ReceiverTerms
  readonly change: (terms: Partial<ReceiverTerms>) => void
  readonly kinds: readonly ReceiverKind[]
}

function TermsFields({ type, terms, change, kinds: all }: TermsFieldsProps) {
  return (
    <>
      {type !== 'webhook' && (
        <Select
          label={t('settings.language')}
          value={terms.language}
          onChange={(value) => change({ language: value === 'ru' ? 'ru' : 'en' })}
          data={[
            { value: 'en', label: 'English' },
            { value: 'ru', label: 'Русский' },
          ]}
        />
      )}
      <Checkbox.Group
        label={t('notices.kinds')}
        value={[...terms.kinds]}
        onChange={(chosen) => change({ kinds: all.filter((kind) => chosen.includes(kind)) })}
      >
        <div className="fields">
          {all.map((kind) => (
            <Checkbox key={kind} value={kind} label={noticeText(kind)} />
          ))}
        </div>
      </Checkbox.Group>
    </>
  )
}

/** A form for the code that was sent to a mailbox or a chat; it can also request another code. */
function ConfirmForm({ receiver: { id, target }, done }: Pick<TermsFormProps, 'receiver' | 'done'>) {
  const params = { id }
  const renew = useAct('POST /cabinet/v1/notices/channels/:id/code', { said: t('notices.renewed') })
  const form = useCall('POST /cabinet/v1/notices/channels/:id/confirm', {
    renews: PLACES.own.renews,
    said: t('notices.confirmed'),
    done,
    first: { code: '' },
    input: ({ code }) => ({ params, body: { code: code.trim() } }),
  })
  return (
    <Form
      of={form}
      form="dialog"
      act={t('notices.confirm')}
      look={{ disabled: form.values.code.trim() === '' }}
      beside={
        <Button variant="subtle" disabled={renew.isPending} onClick={() => renew.mutate({ params, body: {} })}>
          {t('notices.renew')}
        </Button>
      }
    >
      <Text size="sm">{t('notices.confirm_text', { target })}</Text>
      <TextInput
        label={t('entry.code')}
        autoComplete="one-time-code"
        inputMode="numeric"
        required
        data-autofocus
        {...form.field('code')}
      />
    </Form>
  )
}

interface ThresholdFormProps {
  readonly notices: { readonly low_balance: number | null; readonly service_low_balance: number }
  /** Absent = the user's own account. */
  readonly account?: string
}

/** A form for the balance below which the receivers of an account get a notice; empty = the default of the service. */
export function ThresholdForm({
  notices: { low_balance: low, service_low_balance: usual },
  account,
}: ThresholdFormProps) {
  const isOwn = account === undefined
  const route = isOwn ? 'PATCH /cabinet/v1/notices' : 'PATCH /admin/v1/accounts/:id/notices'
  // Both routes have the same input.
  const form = useCall(route as 'PATCH /admin/v1/accounts/:id/notices', {
    said: t('common.saved'),
    renews: [isOwn ? 'GET /cabinet/v1/notices' : 'GET /admin/v1/accounts/:id/notices'],
    first: { low_balance: low === null ? '' : String(low) },
    input: ({ low_balance: value }) => ({ params: { id: account ?? '' }, body: { low_balance: numberOf(value) } }),
  })
  return (
    <Section boxed title={t('notices.low')}>
      <Form of={form} form="narrow" act={t('common.save')}>
        <NumberField
          label={t('notices.threshold')}
          description={t('notices.threshold_hint', { amount: format.money(usual) })}
          unit="₽"
          decimals={6}
          least={0}
          {...form.field('low_balance')}
        />
      </Form>
    </Section>
  )
}

type ReceiverType = NoticeChannel['type']
type ReceiverKind = NoticeChannel['kinds'][number]

/** A receiver of notices, of the operator or of an account. */
export type Receiver = NoticeChannel & {
  /** false = its owner has not confirmed the code yet. The operator's receivers need no code. */
  readonly confirmed?: boolean
}

type MadeReceiver = Receiver & { readonly secret: string | null }
type ReceiverTerms = Required<Pick<NoticeChannelBody, 'kinds' | 'language'>>

/** A kind of notice in the reader's language; an unknown kind, of another release, stays a code. */
export function noticeText(kind: string): string {
  const rows: Readonly<Record<string, (typeof NOTICES)[NoticeKind]>> = NOTICES
  return ownValue(rows, kind)?.label[currentLanguage()] ?? kind
}

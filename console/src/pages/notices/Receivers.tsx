import { Button, Checkbox, SegmentedControl, Select, Switch, Text, TextInput } from '@mantine/core'
import type { UseMutationResult } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { ownValue } from '../../../../src/base/own-value.ts'
import type { NoticeChannel, NoticeChannelBody } from '../../../../src/notices/channel-contract.ts'
import { type NoticeKind, NOTICES } from '../../../../src/tables/notice-table.ts'
import type { ActEndpoint, ReadEndpoint } from '../../api/endpoint.ts'
import { useAct } from '../../api/hooks.ts'
import { currentLanguage } from '../../i18n.ts'
import { StatusBadge } from '../../parts/cells.tsx'
import { DataList } from '../../parts/DataList.tsx'
import { AddButton, confirm, Dialog, Secret } from '../../parts/Dialog.tsx'
import { Form, useFields } from '../../parts/Form.tsx'
import type { EmptyProps } from '../../parts/Loaded.tsx'
import { NumberField } from '../../parts/NumberField.tsx'
import { numberOf } from '../../parts/number-text.ts'
import { Section } from '../../parts/Page.tsx'
import { useWords } from '../../parts/words.ts'

const TYPES = ['email', 'telegram', 'webhook'] as const

/** What may be chosen for a receiver, and what is said about it. */
interface ReceiverChoice {
  /** Types that the service is set up for. */
  readonly types: readonly ReceiverType[]
  readonly kinds: readonly ReceiverKind[]
  /** Beside the field of the address. */
  readonly hint: (type: ReceiverType) => string
}

/** What stands over the list of receivers. */
type Opened =
  | { readonly dialog: 'add' }
  | { readonly dialog: 'terms' | 'code'; readonly receiver: Receiver }
  | { readonly dialog: 'secret'; readonly secret: string }

interface ReceiversProps {
  readonly receivers: readonly Receiver[]
  readonly lead?: string
  readonly empty: EmptyProps
  readonly choice: ReceiverChoice
  /** null = the reader only sees them. */
  readonly wishes: ReceiverWishes | null
}

/** Who is told: the receivers of the operator or of an account, and what changes them. */
export function Receivers({ receivers, lead, empty, choice, wishes }: ReceiversProps): ReactNode {
  const { t } = useWords()
  const [opened, open] = useState<Opened | null>(null)
  const add = (): void => {
    wishes?.add.forget()
    open({ dialog: 'add' })
  }
  return (
    <Section
      title={t('notices.receivers')}
      lead={lead}
      actions={wishes !== null && <AddButton onClick={add}>{t('notices.add')}</AddButton>}
    >
      <ReceiverList receivers={receivers} empty={empty} wishes={wishes} open={open} />
      {wishes !== null && <ReceiverDialogs opened={opened} open={open} choice={choice} wishes={wishes} />}
    </Section>
  )
}

interface ReceiverListProps extends Pick<ReceiversProps, 'receivers' | 'empty' | 'wishes'> {
  readonly open: (dialog: Opened) => void
}

// oxlint-disable-next-line eslint/max-lines-per-function -- the columns of a list
function ReceiverList({ receivers, empty, wishes, open }: ReceiverListProps): ReactNode {
  const { t } = useWords()
  const ask = ({ id, target }: Receiver): void =>
    confirm({
      name: 'receiver-delete',
      title: t('notices.ask_delete', { target }),
      text: t('notices.ask_delete_text'),
      onConfirm: () => wishes?.remove.run(id),
    })
  const prove = (receiver: Receiver): void => {
    wishes?.code?.confirm.forget()
    open({ dialog: 'code', receiver })
  }
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
          value: ({ target }) => target,
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
        { id: 'made', title: t('notices.made'), as: 'date', value: (receiver) => receiver.created_at },
        {
          id: 'enabled',
          title: t('notices.enabled'),
          value: ({ confirmed, enabled }) => confirmed !== false && enabled,
          cell: (receiver) => <State receiver={receiver} change={wishes?.change ?? null} />,
        },
        {
          id: 'actions',
          acts: (receiver) => {
            const { id, target, confirmed } = receiver
            if (wishes === null) return []
            return [
              confirmed === false &&
                wishes.code !== undefined && {
                  label: t('notices.confirm'),
                  name: t('notices.confirm_of', { target }),
                  variant: 'light',
                  run: () => prove(receiver),
                },
              confirmed !== false && {
                label: t('notices.test'),
                name: t('notices.test_of', { target }),
                disabled: wishes.test.isPending,
                run: () => wishes.test.run(id),
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

interface StateProps {
  readonly receiver: Receiver
  readonly change: ReceiverWishes['change'] | null
}

function State({ receiver: { id, target, enabled, confirmed }, change }: StateProps): ReactNode {
  const { t } = useWords()
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

interface ReceiverDialogsProps {
  readonly opened: Opened | null
  readonly open: (dialog: Opened | null) => void
  readonly choice: ReceiverChoice
  readonly wishes: ReceiverWishes
}

function ReceiverDialogs({ opened, open, choice, wishes }: ReceiverDialogsProps): ReactNode {
  const { t } = useWords()
  const close = (): void => open(null)
  const shown = (dialog: 'terms' | 'code'): Receiver | null => (opened?.dialog === dialog ? opened.receiver : null)
  const edited = shown('terms')
  const made = ({ secret, ...receiver }: MadeReceiver): void => {
    if (secret !== null) open({ dialog: 'secret', secret })
    else open(receiver.confirmed === false ? { dialog: 'code', receiver } : null)
  }
  const editTitle = t('notices.edit', { target: edited?.target ?? '' })
  const { code } = wishes
  return (
    <>
      <Dialog name="receiver" of={opened?.dialog === 'add'} close={close} title={t('notices.add')} size="lg">
        <ReceiverForm choice={choice} add={wishes.add} done={made} />
      </Dialog>
      <Dialog name="receiver-terms" of={edited} close={close} title={editTitle} size="lg">
        {(receiver) => <TermsForm receiver={receiver} kinds={choice.kinds} change={wishes.change} done={close} />}
      </Dialog>
      <Dialog name="receiver-code" of={shown('code')} close={close} title={t('notices.confirm_title')}>
        {(receiver) => code !== undefined && <ConfirmForm receiver={receiver} code={code} done={close} />}
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

/** A new receiver: where it is told, of what, and in which language. */
function ReceiverForm({
  choice: { types: allowed, kinds, hint },
  add,
  done,
}: Pick<ReceiverDialogsProps, 'choice'> & {
  readonly add: ReceiverWishes['add']
  readonly done: (made: MadeReceiver) => void
}): ReactNode {
  const { t } = useWords()
  const types = TYPES.filter((known) => allowed.includes(known))
  const form = useFields<ReceiverTerms & { type: ReceiverType; target: string }>({
    first: { type: types[0] ?? 'webhook', target: '', language: 'en', kinds },
    calls: [add],
    send: ({ target, language, ...body }) =>
      add.run({ ...body, target: target.trim(), ...(body.type === 'webhook' ? {} : { language }) }, done),
  })
  const { type } = form.values
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
        description={hint(type)}
        required
        maxLength={2_000}
        data-autofocus
        {...form.field('target')}
      />
      <TermsFields type={type} terms={form.values} change={form.set} kinds={kinds} />
    </Form>
  )
}

interface TermsFormProps {
  readonly receiver: Receiver
  readonly kinds: readonly ReceiverKind[]
  readonly change: ReceiverWishes['change']
  readonly done: () => void
}

/** Other kinds or another language of a receiver; where it is told stays. */
function TermsForm({ receiver: { id, type, kinds, language }, kinds: all, change, done }: TermsFormProps): ReactNode {
  const { t } = useWords()
  const form = useFields<ReceiverTerms>({
    first: { kinds, language },
    calls: [change],
    send: (terms) => change.run({ id, patch: type === 'webhook' ? { kinds: terms.kinds } : terms }, done),
  })
  return (
    <Form of={form} form="dialog" act={t('common.save')} look={{ disabled: form.values.kinds.length === 0 }}>
      <TermsFields type={type} terms={form.values} change={form.set} kinds={all} />
    </Form>
  )
}

interface TermsFieldsProps {
  readonly type: ReceiverType
  readonly terms: ReceiverTerms
  readonly change: (terms: Partial<ReceiverTerms>) => void
  readonly kinds: readonly ReceiverKind[]
}

function TermsFields({ type, terms, change, kinds: all }: TermsFieldsProps): ReactNode {
  const { t } = useWords()
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

interface ConfirmFormProps {
  readonly receiver: Receiver
  readonly code: NonNullable<ReceiverWishes['code']>
  readonly done: () => void
}

/** Takes the code that was sent to a mailbox or a chat, and asks for another one. */
function ConfirmForm({ receiver: { id, target }, code: { confirm: prove, renew }, done }: ConfirmFormProps): ReactNode {
  const { t } = useWords()
  const form = useFields({
    first: { code: '' },
    calls: [prove],
    send: ({ code }) => prove.run({ id, code: code.trim() }, done),
  })
  return (
    <Form
      of={form}
      form="dialog"
      act={t('notices.confirm')}
      look={{ disabled: form.values.code.trim() === '' }}
      beside={
        <Button variant="subtle" disabled={renew.isPending} onClick={() => renew.run(id)}>
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
        maxLength={20}
        data-autofocus
        {...form.field('code')}
      />
    </Form>
  )
}

/** Below which balance the receivers of an account are told. */
export function ThresholdForm({
  notices: { low_balance: low, service_low_balance: usual },
  save,
}: {
  readonly notices: { readonly low_balance: number | null; readonly service_low_balance: number }
  /** RUB; null = the service's own. */
  readonly save: Wish<number | null>
}): ReactNode {
  const { t, format } = useWords()
  const form = useFields({
    first: { low_balance: low === null ? '' : String(low) },
    calls: [save],
    send: ({ low_balance: value }) => save.run(numberOf(value)),
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

export type ReceiverType = NoticeChannel['type']
export type ReceiverKind = NoticeChannel['kinds'][number]

/** A receiver of notices, of the operator's or of an account's. */
export type Receiver = NoticeChannel & {
  /** false = its owner has yet to give a code back. The operator's need none. */
  readonly confirmed?: boolean
}

export type MadeReceiver = Receiver & { readonly secret: string | null }
export type ReceiverTerms = Required<Pick<NoticeChannelBody, 'kinds' | 'language'>>

/** A kind of notice in the reader's language; one of another release stays a code. */
export function noticeText(kind: string): string {
  const rows: Readonly<Record<string, (typeof NOTICES)[NoticeKind]>> = NOTICES
  return ownValue(rows, kind)?.label[currentLanguage()] ?? kind
}

/** A route as dialogs and buttons use it, whoever the receivers are of. */
export interface Wish<Given, Made = unknown> {
  readonly isPending: boolean
  readonly error: Error | null
  readonly run: (given: Given, done?: (made: Made) => void) => void
  /** Of the error of the last time. */
  readonly forget: () => void
}

export interface ReceiverWishes {
  readonly add: Wish<NoticeChannelBody, MadeReceiver>
  readonly change: Wish<{
    readonly id: string
    readonly patch: Partial<ReceiverTerms> & { readonly enabled?: boolean }
  }>
  readonly remove: Wish<string>
  readonly test: Wish<string>
  /** Where a mailbox or a chat is confirmed by a code. */
  readonly code?: {
    readonly confirm: Wish<{ readonly id: string; readonly code: string }>
    readonly renew: Wish<string>
  }
}

export function wishOf<Given, Made, Input>(
  { isPending, error, mutate, reset }: UseMutationResult<Made, Error, Input>,
  input: (given: Given) => Input,
): Wish<Given, Made> {
  return {
    isPending,
    error,
    forget: reset,
    run: (given, done) => mutate(input(given), done === undefined ? {} : { onSuccess: done }),
  }
}

/** Where the receivers of the operator, of an account or of one's own account are changed: alike but for the paths. */
type Channels =
  | '/admin/v1/notices/channels'
  | '/admin/v1/accounts/:id/notices/channels'
  | '/cabinet/v1/notices/channels'
type Made = UseMutationResult<MadeReceiver, Error, object>

/** What may be done to receivers. */
export function useReceiverWishes(
  channels: Channels,
  renews: readonly ReadEndpoint[],
  account?: string,
): Omit<ReceiverWishes, 'code'> {
  const { t } = useWords()
  const ofAccount = account === undefined ? {} : { id: account }
  const name = account === undefined ? 'id' : 'channel'
  // The routes under these paths take the same bodies.
  const route = (method: string, rest = ''): ActEndpoint =>
    `${method} ${channels}${rest === '' ? '' : `/:${name}${rest === '/' ? '' : rest}`}` as ActEndpoint
  const params = (id: string) => ({ params: { ...ofAccount, [name]: id } })
  const add = useAct(route('POST'), { quiet: true, renews }) as unknown as Made
  const change = useAct(route('PATCH', '/'), { renews, said: t('common.saved') }) as unknown as Made
  const remove = useAct(route('DELETE', '/'), { renews, said: t('notices.deleted') }) as unknown as Made
  const test = useAct(route('POST', '/test'), { renews, said: t('notices.tested') }) as unknown as Made
  return {
    add: wishOf(add, (body) => ({ params: ofAccount, body })),
    change: wishOf(change, ({ id, patch }) => ({ ...params(id), body: patch })),
    remove: wishOf(remove, params),
    test: wishOf(test, (id) => ({ ...params(id), body: {} })),
  }
}

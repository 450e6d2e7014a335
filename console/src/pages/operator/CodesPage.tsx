import { TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Code } from '../../../../src/api/admin/top-up-contract.ts'
import { switchedBack, useAct } from '../../api/hooks.ts'
import { ServerList } from '../../parts/DataList.tsx'
import { DayField } from '../../parts/DayField.tsx'
import { AddButton, confirm, Dialog, Secret } from '../../parts/Dialog.tsx'
import { ExternalIdButton, ExternalName } from '../../parts/ExternalName.tsx'
import { Form, useCall } from '../../parts/Form.tsx'
import { NumberField } from '../../parts/NumberField.tsx'
import type { Tone } from '../../parts/cells.tsx'
import { format, t } from '../../parts/words.ts'
import { lastSecondOf } from '../../parts/zoned-day.ts'
import { OperatorPage } from './OperatorPage.tsx'

const CODES_MAX = 1_000

/** Codes with which customers top up their balance. */
export function CodesPage() {
  const [adding, setAdding] = useState(false)
  const change = useAct('PATCH /admin/v1/codes/:id', {
    renews: ['GET /admin/v1/codes'],
    said: t('common.saved'),
    undo: switchedBack,
  })
  return (
    <OperatorPage
      title={t('nav.codes')}
      lead={t('codes.lead')}
      actions={<AddButton onClick={() => setAdding(true)}>{t('codes.create')}</AddButton>}
    >
      <ServerList
        read="GET /admin/v1/codes"
        filters={[{ name: 'id', label: t('accounts.id') }]}
        name="codes"
        label={t('nav.codes')}
        empty={{ picture: 'money', title: t('codes.none'), text: t('codes.none_text') }}
        columns={[
          {
            id: 'label',
            title: t('money.code'),
            value: 'label',
            cell: ({ label }) => <span className="mono">{label}…</span>,
            under: (code) => <ExternalName of={code} />,
          },
          { id: 'state', title: t('keys.state'), word: stateOf },
          {
            id: 'uses',
            title: t('codes.uses'),
            end: true,
            value: 'uses',
            cell: (code) => `${format.number(code.uses)} / ${format.number(code.uses_max)}`,
          },
          { id: 'expires', title: t('keys.expiry'), as: 'date', value: 'expires_at' },
          { id: 'note', title: t('codes.note'), value: ({ note }) => note },
          { id: 'by', title: t('codes.by'), value: 'created_by' },
          { id: 'created_at', title: t('accounts.since'), as: 'date', ordered: true, value: 'created_at' },
          { id: 'amount', title: t('money.amount'), as: 'money', value: ({ amount }) => amount },
          {
            id: 'actions',
            acts: (code) => [
              <ExternalIdButton key="name" change="PATCH /admin/v1/codes/:id" of={code} name={code.label} />,
              {
                label: code.disabled ? t('keys.enable') : t('keys.disable'),
                run: () => change.mutate({ params: { id: code.id }, body: { disabled: !code.disabled } }),
              },
            ],
          },
        ]}
      />
      <Dialog name="codes" of={adding} close={() => setAdding(false)} title={t('codes.create')}>
        <AddForm />
      </Dialog>
    </OperatorPage>
  )
}

function stateOf({ disabled, expires_at: expires, uses, uses_max: most }: Code): readonly [Tone, string] {
  if (disabled) return ['quiet', t('keys.disabled')]
  if (expires !== null && Date.parse(expires) <= Date.now()) return ['bad', t('keys.expired')]
  return uses >= most ? ['quiet', t('codes.used_up')] : ['good', t('keys.active')]
}

function AddForm() {
  const form = useCall('POST /admin/v1/codes', {
    renews: ['GET /admin/v1/codes'],
    first: { amount: '1000', count: '1', uses: '1', expires: '', note: '' },
    names: { uses_max: 'uses', expires_at: 'expires' },
    input: ({ amount, count, uses, expires, note }) => ({
      body: {
        amount: Number(amount),
        count: Number(count),
        uses_max: Number(uses),
        expires_at: lastSecondOf(expires, format.zone),
        note: note.trim() === '' ? null : note.trim(),
      },
    }),
    ask: ({ amount, count, uses }, go) =>
      confirm({
        name: 'codes-ask',
        title: t('codes.create'),
        text: t('codes.ask_create', {
          count: format.number(Number(count)),
          uses: format.number(Number(uses)),
          amount: format.money(Number(amount)),
          sum: format.money(Number(amount) * Number(count) * Number(uses)),
        }),
        act: t('codes.create'),
        harmful: false,
        onConfirm: go,
      }),
  })
  if (form.answer !== undefined)
    return (
      <Secret
        text={form.answer.data.map(({ code }) => code).join('\n')}
        label={t('nav.codes')}
        warning={t('codes.shown_once')}
      />
    )
  return (
    <Form of={form} form="dialog" act={t('codes.create')}>
      <NumberField label={t('money.amount')} unit="₽" decimals={6} least={0} required {...form.field('amount')} />
      <div className="fields">
        <NumberField
          label={t('codes.count')}
          decimals={0}
          least={1}
          most={CODES_MAX}
          required
          {...form.field('count')}
        />
        <NumberField label={t('codes.uses_max')} decimals={0} least={1} required {...form.field('uses')} />
      </div>
      <DayField label={t('keys.expiry')} description={t('keys.expiry_hint')} {...form.field('expires')} />
      <TextInput label={t('codes.note')} {...form.field('note')} />
    </Form>
  )
}

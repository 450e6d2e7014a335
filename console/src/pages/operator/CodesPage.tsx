import { Alert, Button, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Code } from '../../../../src/api/admin/top-up-contract.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { DataList, PAGE_ROWS } from '../../parts/DataList.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { DayField } from '../../parts/DayField.tsx'
import { lastSecondOf } from '../../parts/zoned-day.ts'
import { confirm } from '../../parts/confirm.tsx'
import { CopyBlock } from '../../parts/Copy.tsx'
import { PlusIcon } from '../../parts/icons.ts'
import { ExternalIdButton, ExternalName } from '../../parts/ExternalName.tsx'
import { fileAddress } from '../../parts/list-csv.ts'
import { sortOf, useListPlace } from '../../parts/list-place.ts'
import { Failed, Loaded } from '../../parts/Loaded.tsx'
import { Moment } from '../../parts/Moment.tsx'
import { NumberField } from '../../parts/NumberField.tsx'
import { StatusBadge } from '../../parts/StatusBadge.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'
import { OperatorPage } from './OperatorPage.tsx'

const CODES_MAX = 1_000

/** Codes that customers turn into balance. */
export function CodesPage(): ReactNode {
  const { t } = useTranslation()
  const { sort, offset } = useListPlace()
  const order = sortOf(['created_at'], sort)
  const [adding, setAdding] = useState(false)
  const codes = useRead('GET /admin/v1/codes', { query: { ...order, limit: PAGE_ROWS, offset } }, { keep: true })
  return (
    <OperatorPage
      title={t('nav.codes')}
      lead={t('codes.lead')}
      actions={
        <Button leftSection={<PlusIcon size={17} />} onClick={() => setAdding(true)}>
          {t('codes.create')}
        </Button>
      }
    >
      <Loaded of={codes} height={360}>
        {({ data, total }) => (
          <CodeList codes={data} total={total} file={fileAddress('GET /admin/v1/codes', { query: order })} />
        )}
      </Loaded>
      <Dialog name="codes" opened={adding} onClose={() => setAdding(false)} title={t('codes.create')}>
        <AddForm />
      </Dialog>
    </OperatorPage>
  )
}

interface CodeListProps {
  readonly codes: readonly Code[]
  readonly total: number
  readonly file: string
}

function CodeList({ codes, total, file }: CodeListProps): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const change = useAct('PATCH /admin/v1/codes/:id', { renews: ['GET /admin/v1/codes'], said: t('common.saved') })
  return (
    <DataList
      name="codes"
      label={t('nav.codes')}
      rows={codes}
      page={{ total }}
      file={file}
      rowId={({ id }) => id}
      empty={{ picture: 'money', title: t('codes.none'), text: t('codes.none_text') }}
      columns={[
        {
          id: 'label',
          title: t('money.code'),
          value: ({ label }) => label,
          cell: (code) => (
            <div>
              <span className={css.mono}>{code.label}…</span>
              <ExternalName of={code} />
            </div>
          ),
        },
        {
          id: 'state',
          title: t('keys.state'),
          value: (code) => t(stateOf(code)[1]),
          cell: (code) => <CodeState code={code} />,
        },
        {
          id: 'uses',
          title: t('codes.uses'),
          end: true,
          value: ({ uses }) => uses,
          cell: (code) => `${format.number(code.uses)} / ${format.number(code.uses_max)}`,
        },
        {
          id: 'expires',
          title: t('keys.expiry'),
          end: true,
          value: (code) => code.expires_at,
          cell: (code) => (code.expires_at === null ? '–' : <Moment at={code.expires_at} as="date" />),
        },
        { id: 'note', title: t('codes.note'), value: ({ note }) => note, cell: ({ note }) => note },
        { id: 'by', title: t('codes.by'), value: (code) => code.created_by, cell: (code) => code.created_by },
        {
          id: 'created_at',
          title: t('accounts.since'),
          end: true,
          ordered: true,
          value: (code) => code.created_at,
          cell: (code) => <Moment at={code.created_at} as="date" />,
        },
        {
          id: 'amount',
          title: t('money.amount'),
          end: true,
          value: ({ amount }) => amount,
          cell: ({ amount }) => format.moneyInColumn(amount),
        },
        {
          id: 'actions',
          title: '',
          end: true,
          cell: (code) => (
            <>
              <ExternalIdButton change="PATCH /admin/v1/codes/:id" of={code} name={code.label} />
              <Button
                size="compact-sm"
                variant="subtle"
                onClick={() => change.mutate({ params: { id: code.id }, body: { disabled: !code.disabled } })}
              >
                {code.disabled ? t('keys.enable') : t('keys.disable')}
              </Button>
            </>
          ),
        },
      ]}
    />
  )
}

function stateOf({ disabled, expires_at: expires, uses, uses_max: most }: Code) {
  if (disabled) return ['quiet', 'keys.disabled'] as const
  if (expires !== null && Date.parse(expires) <= Date.now()) return ['bad', 'keys.expired'] as const
  return uses >= most ? (['quiet', 'codes.used_up'] as const) : (['good', 'keys.active'] as const)
}

function CodeState({ code }: { readonly code: Code }): ReactNode {
  const { t } = useTranslation()
  const [tone, text] = stateOf(code)
  return <StatusBadge tone={tone}>{t(text)}</StatusBadge>
}

interface Values {
  readonly amount: string
  readonly count: string
  readonly uses: string
  readonly expires: string
  readonly note: string
}

function AddForm(): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const form = useForm<Values>({ initialValues: { amount: '1000', count: '1', uses: '1', expires: '', note: '' } })
  const create = useAct('POST /admin/v1/codes', { quiet: true, renews: ['GET /admin/v1/codes'] })
  if (create.data !== undefined) return <MadeCodes codes={create.data.data.map(({ code }) => code)} />
  const ask = (values: Values): void => {
    const body = bodyOf(values, format.zone)
    confirm({
      name: 'codes-ask',
      title: t('codes.create'),
      text: t('codes.ask_create', {
        count: format.number(body.count),
        uses: format.number(body.uses_max),
        amount: format.money(body.amount),
        sum: format.money(body.amount * body.count * body.uses_max),
      }),
      act: t('codes.create'),
      harmful: false,
      onConfirm: () => create.mutate({ body }),
    })
  }
  return (
    <form onSubmit={form.onSubmit(ask)}>
      <Stack>
        {create.isError && <Failed failure={create.error} />}
        <NumberField
          label={t('money.amount')}
          unit="₽"
          decimals={6}
          least={0}
          required
          {...form.getInputProps('amount')}
        />
        <div className={css.fields}>
          <NumberField
            label={t('codes.count')}
            decimals={0}
            least={1}
            most={CODES_MAX}
            required
            {...form.getInputProps('count')}
          />
          <NumberField label={t('codes.uses_max')} decimals={0} least={1} required {...form.getInputProps('uses')} />
        </div>
        <DayField
          label={t('keys.expiry')}
          description={t('keys.expiry_hint')}
          value={form.values.expires}
          onChange={(day) => form.setFieldValue('expires', day)}
        />
        <TextInput label={t('codes.note')} maxLength={200} {...form.getInputProps('note')} />
        <Button type="submit" loading={create.isPending}>
          {t('codes.create')}
        </Button>
      </Stack>
    </form>
  )
}

/** New codes in full, this one time. */
function MadeCodes({ codes }: { readonly codes: readonly string[] }): ReactNode {
  const { t } = useTranslation()
  return (
    <Stack>
      <Alert color="yellow">{t('codes.shown_once')}</Alert>
      <CopyBlock text={codes.join('\n')} label={t('nav.codes')} />
    </Stack>
  )
}

function bodyOf({ amount, count, uses, expires, note }: Values, zone: string) {
  return {
    amount: Number(amount),
    count: Number(count),
    uses_max: Number(uses),
    expires_at: lastSecondOf(expires, zone),
    note: note.trim() === '' ? null : note.trim(),
  }
}

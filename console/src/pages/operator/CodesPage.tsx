import { Alert, Button, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Code } from '../../../../src/admin/top-up-contract.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { Dialog } from '../../parts/Dialog.tsx'
import { DayField } from '../../parts/DayField.tsx'
import { lastSecondOf } from '../../parts/zoned-day.ts'
import { confirm } from '../../parts/confirm.tsx'
import { CopyBlock } from '../../parts/Copy.tsx'
import { PlusIcon } from '../../parts/icons.ts'
import { ExternalName } from '../../parts/ExternalName.tsx'
import { List } from '../../parts/List.tsx'
import { Failed, Loaded } from '../../parts/Loaded.tsx'
import { NumberField } from '../../parts/NumberField.tsx'
import { Pager } from '../../parts/Pager.tsx'
import { StatusBadge } from '../../parts/StatusBadge.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'
import { OperatorPage } from './OperatorPage.tsx'

const PAGE_ROWS = 50
const CODES_MAX = 1_000

/** Codes that customers turn into balance. */
export function CodesPage(): ReactNode {
  const { t } = useTranslation()
  const [offset, setOffset] = useState(0)
  const [adding, setAdding] = useState(false)
  const codes = useRead('GET /admin/v1/codes', { query: { limit: PAGE_ROWS, offset } }, { keep: true })
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
          <>
            <CodeList codes={data} />
            <Pager offset={offset} size={PAGE_ROWS} total={total} go={setOffset} />
          </>
        )}
      </Loaded>
      <Dialog opened={adding} onClose={() => setAdding(false)} title={t('codes.create')}>
        <AddForm />
      </Dialog>
    </OperatorPage>
  )
}

function CodeList({ codes }: { readonly codes: readonly Code[] }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const change = useAct('PATCH /admin/v1/codes/:id', { renews: ['GET /admin/v1/codes'], said: t('common.saved') })
  return (
    <List
      label={t('nav.codes')}
      rows={codes}
      rowId={({ id }) => id}
      empty={{ title: t('codes.none'), text: t('codes.none_text') }}
      columns={[
        {
          id: 'label',
          title: t('money.code'),
          cell: (code) => (
            <div>
              <span className={css.mono}>{code.label}…</span>
              {code.note !== null && <div>{code.note}</div>}
              <ExternalName of={code} />
            </div>
          ),
        },
        { id: 'state', title: t('keys.state'), cell: (code) => <CodeState code={code} /> },
        {
          id: 'uses',
          title: t('codes.uses'),
          end: true,
          cell: (code) => `${format.number(code.uses)} / ${format.number(code.uses_max)}`,
        },
        {
          id: 'expires',
          title: t('keys.expiry'),
          end: true,
          cell: (code) => (code.expires_at === null ? '–' : format.date(code.expires_at)),
        },
        { id: 'by', title: t('codes.by'), cell: (code) => `${code.created_by} · ${format.date(code.created_at)}` },
        { id: 'amount', title: t('money.amount'), end: true, cell: ({ amount }) => format.moneyInColumn(amount) },
        {
          id: t('common.actions'),
          title: '',
          end: true,
          cell: ({ id, disabled }) => (
            <Button
              size="compact-sm"
              variant="subtle"
              onClick={() => change.mutate({ params: { id }, body: { disabled: !disabled } })}
            >
              {disabled ? t('keys.enable') : t('keys.disable')}
            </Button>
          ),
        },
      ]}
    />
  )
}

function CodeState({ code }: { readonly code: Code }): ReactNode {
  const { t } = useTranslation()
  if (code.disabled) return <StatusBadge tone="quiet">{t('keys.disabled')}</StatusBadge>
  if (code.expires_at !== null && Date.parse(code.expires_at) <= Date.now())
    return <StatusBadge tone="bad">{t('keys.expired')}</StatusBadge>
  return code.uses >= code.uses_max ? (
    <StatusBadge tone="quiet">{t('codes.used_up')}</StatusBadge>
  ) : (
    <StatusBadge tone="good">{t('keys.active')}</StatusBadge>
  )
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

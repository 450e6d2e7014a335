import { Alert, Button, FileButton, Group, Select, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Reconciliation as Report } from '../../../../src/api/admin/reconciliation/contract.ts'
import { address } from '../../api/endpoint.ts'
import { useRead } from '../../api/hooks.ts'
import { Can } from '../../parts/Can.tsx'
import { DataList } from '../../parts/DataList.tsx'
import { RangeFields, useRange } from '../../parts/RangeFields.tsx'
import { Form, useCall } from '../../parts/Form.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { NumberField } from '../../parts/NumberField.tsx'
import { Section } from '../../parts/Page.tsx'
import { Press, Said } from '../../parts/cells.tsx'
import { DownloadIcon } from '../../parts/icons.ts'
import { format, t } from '../../parts/words.ts'
import { OperatorPage } from './OperatorPage.tsx'

/** The bills of providers against the log, and usage and cost for the programs of accountants. */
export function BillsPage() {
  return (
    <OperatorPage title={t('nav.bills')} lead={t('bills.lead')}>
      <Can call="POST /admin/v1/reconciliations">
        <Reconciliation />
      </Can>
      <Can call="GET /admin/v1/focus.csv">
        <Focus />
      </Can>
    </OperatorPage>
  )
}

function Reconciliation() {
  const catalog = useRead('GET /admin/v1/catalog', {})
  return (
    <Loaded of={catalog} height={280}>
      {({ providers }) => <Comparison providers={Object.keys(providers ?? {})} />}
    </Loaded>
  )
}

function Comparison({ providers }: { readonly providers: readonly string[] }) {
  const [file, setFile] = useState<string | null>(null)
  const { answer, ...form } = useCall('POST /admin/v1/reconciliations', {
    first: { provider: '', csv: '', tolerance: '1', currency: '' },
    check: { csv: (csv: string) => (csv === '' ? t('common.required') : null) },
    input: ({ provider, csv, tolerance, currency }) => ({
      body: { provider, csv, tolerance: Number(tolerance), currency: currency.trim() === '' ? null : currency.trim() },
    }),
  })
  const csv = form.field('csv')
  return (
    <>
      <Section boxed title={t('bills.compare')} lead={t('bills.compare_lead')}>
        <Form of={form} act={t('bills.run')}>
          <div className="fields">
            <Select label={t('log.filter_provider')} required searchable data={providers} {...form.field('provider')} />
            <NumberField
              label={t('bills.tolerance')}
              unit="%"
              decimals={2}
              least={0}
              most={100}
              required
              {...form.field('tolerance')}
            />
            <TextInput label={t('bills.currency')} placeholder="USD" {...form.field('currency')} />
          </div>
          <Group gap="sm">
            <FileButton
              accept="text/csv,.csv"
              onChange={(chosen) => {
                if (chosen === null) return
                setFile(chosen.name)
                void chosen.text().then((text) => form.set({ csv: text }))
              }}
            >
              {(props) => <Press {...props} variant="default" text={t('bills.file')} />}
            </FileButton>
            <Text size="sm" {...(file === null && csv.error ? { c: 'red', role: 'alert' } : {})}>
              {file ?? csv.error ?? <Said text="day,model,amount,currency" />}
            </Text>
          </Group>
        </Form>
      </Section>
      {answer !== undefined && <Compared report={answer} />}
    </>
  )
}

function Compared({ report: { ok, totals, data } }: { readonly report: Report }) {
  return (
    <>
      <Alert color={ok ? 'teal' : 'red'} role="status" title={t(ok ? 'bills.ok' : 'bills.differs')}>
        {t('bills.totals', {
          ours: format.money(totals.ours),
          theirs: format.money(totals.theirs),
          difference: format.moreMoney(totals.difference),
        })}
      </Alert>
      <DataList
        name="bills"
        label={t('bills.compare')}
        rows={data}
        rowId={({ from, model }) => `${from} ${model}`}
        empty={{ picture: 'calm', title: t('bills.none') }}
        columns={[
          { id: 'model', title: t('usage.model'), value: 'model' },
          {
            id: 'day',
            title: t('bills.day'),
            value: ({ from, to }) => (from === to ? format.day(from) : `${format.day(from)} – ${format.day(to)}`),
          },
          {
            id: 'verdict',
            title: t('request.outcome'),
            word: ({ verdict }) => [verdict === 'match' ? 'good' : 'bad', t(`bills.verdict_${verdict}`)],
          },
          { id: 'ours', title: t('bills.ours'), as: 'money', value: 'ours' },
          { id: 'theirs', title: t('bills.theirs'), as: 'money', value: 'theirs' },
          { id: 'difference', title: t('bills.difference'), as: 'money', value: 'difference' },
        ]}
      />
    </>
  )
}

/** Usage and cost by FOCUS, the common form of such files. */
function Focus() {
  const range = useRange()
  return (
    <Section boxed title="FOCUS" lead={t('bills.focus_lead')}>
      <div className="fields">
        <RangeFields {...range} />
        <Button
          component="a"
          href={address('GET /admin/v1/focus.csv', { query: range.range })}
          download
          variant="default"
          leftSection={<DownloadIcon size={16} />}
        >
          {t('bills.save')}
        </Button>
      </div>
    </Section>
  )
}

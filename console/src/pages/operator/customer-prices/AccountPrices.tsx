import { Button, Stack } from '@mantine/core'
import { useForm } from '@mantine/form'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Account } from '../../../../../src/api/admin/account-contract.ts'
import { useAct, useRead } from '../../../api/hooks.ts'
import { Can } from '../../../parts/Can.tsx'
import { ChoiceField } from '../../../parts/ChoiceField.tsx'
import { Failed } from '../../../parts/Loaded.tsx'
import { Section } from '../../../parts/Section.tsx'
import css from '../../../style/layout.module.css'
import { CustomerMarkupField } from './CustomerMarkupField.tsx'
import { CustomerPriceTable } from './CustomerPriceTable.tsx'
import { useMarkupText } from './markup-text.ts'

/** The group and the markup of an account, and what it pays by them. */
export function AccountPrices({ account }: { readonly account: Account }): ReactNode {
  const { t } = useTranslation()
  return (
    <div className={css.page}>
      <Can call="PATCH /admin/v1/accounts/:id">
        <Section boxed title={t('customers.own')} lead={t('customers.own_lead')}>
          <RuleForm account={account} />
        </Section>
      </Can>
      <CustomerPriceTable query={{ account: account.id }} />
    </div>
  )
}

function RuleForm({ account }: { readonly account: Account }): ReactNode {
  const { t } = useTranslation()
  const text = useMarkupText()
  const groups = useRead('GET /admin/v1/account-groups', {})
  const save = useAct('PATCH /admin/v1/accounts/:id', {
    quiet: true,
    said: t('common.saved'),
    renews: ['GET /admin/v1/accounts', 'GET /admin/v1/accounts/:id', 'GET /admin/v1/customer-prices'],
  })
  const form = useForm<{ group: string | null; markup: string }>({
    initialValues: { group: account.group, markup: account.markup ?? '' },
  })
  return (
    <form
      onSubmit={form.onSubmit(({ group, markup }) =>
        save.mutate({ params: { id: account.id }, body: { group, markup: markup === '' ? null : markup } }),
      )}
    >
      <Stack className={css.narrow ?? ''}>
        {save.isError && <Failed failure={save.error} />}
        <ChoiceField
          label={t('field.group')}
          placeholder={t('customers.in_none')}
          data={(groups.data?.data ?? []).map(({ id, name, markup }) => ({
            value: id,
            label: `${name} · ${text.factor(markup)}`,
          }))}
          {...form.getInputProps('group')}
        />
        <CustomerMarkupField placeholder={t('customers.of_group')} {...form.getInputProps('markup')} />
        <div>
          <Button type="submit" loading={save.isPending}>
            {t('common.save')}
          </Button>
        </div>
      </Stack>
    </form>
  )
}

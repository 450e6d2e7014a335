import { Button, MultiSelect, Stack, Switch, TextInput } from '@mantine/core'
import { useForm, type UseFormReturnType } from '@mantine/form'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Account, AccountPatch } from '../../../../src/api/admin/account-contract.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { ChoiceField } from '../../parts/ChoiceField.tsx'
import { Failed } from '../../parts/Loaded.tsx'
import { NumberField } from '../../parts/NumberField.tsx'
import {
  spendingLimitBody,
  SpendingLimitFields,
  spendingLimitOf,
  type SpendingLimit,
} from '../../parts/SpendingLimitFields.tsx'
import css from '../../style/layout.module.css'

const DEFAULT_RATE = { requests: 300, window: 60 }

interface Values extends SpendingLimit {
  readonly name: string
  readonly model: string | null
  readonly ownRate: boolean
  readonly requests: string
  readonly window: string
  readonly models: string[]
  readonly exactHolds: boolean
}

/** The name and the limits of an account. */
export function AccountLimits({ account }: { readonly account: Account }): ReactNode {
  const { t } = useTranslation()
  const models = useRead('GET /admin/v1/models', {})
  const ids = (models.data?.data ?? []).map(({ id }) => id)
  const save = useAct('PATCH /admin/v1/accounts/:id', {
    quiet: true,
    said: t('common.saved'),
    renews: ['GET /admin/v1/accounts', 'GET /admin/v1/accounts/:id'],
  })
  const form = useForm<Values>({
    initialValues: {
      name: account.name,
      model: account.default_model,
      ownRate: account.rate_limit !== null,
      requests: String(account.rate_limit?.requests ?? DEFAULT_RATE.requests),
      window: String(account.rate_limit?.window ?? DEFAULT_RATE.window),
      models: [...(account.allowed_models ?? [])],
      exactHolds: account.exact_holds,
      ...spendingLimitOf(account),
    },
    validate: { limit: (limit, { kind }) => (kind !== 'none' && limit === '' ? t('common.required') : null) },
  })
  return (
    <form onSubmit={form.onSubmit((values) => save.mutate({ params: { id: account.id }, body: patchOf(values) }))}>
      <Stack className={css.narrow ?? ''}>
        {save.isError && <Failed failure={save.error} />}
        <TextInput label={t('keys.name')} required maxLength={200} {...form.getInputProps('name')} />
        <ChoiceField
          label={t('settings.model')}
          placeholder=""
          searchable
          limit={60}
          data={ids}
          {...form.getInputProps('model')}
        />
        <SpendingLimitFields label={t('limits.label')} kind={form.values.kind} props={form.getInputProps} />
        <RateFields form={form} />
        <MultiSelect
          label={t('keys.models')}
          description={t('keys.models_hint')}
          searchable
          clearable
          clearButtonProps={{ 'aria-label': t('common.clear') }}
          limit={60}
          data={ids}
          {...form.getInputProps('models')}
        />
        <Switch
          label={t('accounts.exact_holds')}
          description={t('accounts.exact_holds_hint')}
          {...form.getInputProps('exactHolds', { type: 'checkbox' })}
        />
        <div>
          <Button type="submit" loading={save.isPending}>
            {t('common.save')}
          </Button>
        </div>
      </Stack>
    </form>
  )
}

/** The rate limit of this account; without one the service's own holds. */
function RateFields({ form }: { readonly form: UseFormReturnType<Values> }): ReactNode {
  const { t } = useTranslation()
  const whole = { decimals: 0, least: 1, required: true }
  return (
    <>
      <Switch label={t('accounts.own_rate')} {...form.getInputProps('ownRate', { type: 'checkbox' })} />
      {form.values.ownRate && (
        <div className={css.fields}>
          <NumberField label={t('accounts.requests')} {...whole} {...form.getInputProps('requests')} />
          <NumberField label={t('accounts.window')} {...whole} {...form.getInputProps('window')} />
        </div>
      )}
    </>
  )
}

function patchOf({ name, model, ownRate, requests, window, models, exactHolds, ...limit }: Values): AccountPatch {
  return {
    name: name.trim(),
    default_model: model,
    rate_limit: ownRate ? { requests: Number(requests), window: Number(window) } : null,
    allowed_models: models.length === 0 ? null : models,
    exact_holds: exactHolds,
    ...spendingLimitBody(limit),
  }
}

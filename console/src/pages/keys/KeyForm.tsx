import { Button, Group, MultiSelect, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Key, KeyBody, NewKey } from '../../../../src/api/cabinet/key-contract.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { DayField } from '../../parts/DayField.tsx'
import { useFormat } from '../../parts/use-format.ts'
import { useProfile } from '../../session.tsx'
import { dayIn, lastSecondOf } from '../../parts/zoned-day.ts'
import { fieldFailure } from '../../parts/failure-text.ts'
import { Failed } from '../../parts/Loaded.tsx'
import {
  spendingLimitBody,
  SpendingLimitFields,
  spendingLimitOf,
  type SpendingLimit,
} from '../../parts/SpendingLimitFields.tsx'
import { KeyLimitFields, limitBodyOf, limitValuesOf, type LimitValues } from './KeyLimitFields.tsx'

interface Values extends LimitValues, SpendingLimit {
  readonly name: string
  /** `YYYY-MM-DD`: the last day on which the key works; empty = for ever. */
  readonly expires: string
  readonly models: string[]
}

/** Creates a key, or changes one. */
export function KeyForm({
  edited,
  done,
}: {
  readonly edited: Key | null
  readonly done: (answer: Key | NewKey) => void
}): ReactNode {
  const { t } = useTranslation()
  const { zone } = useFormat()
  const { monthly_limit: most } = useProfile()
  const models = useRead('GET /cabinet/v1/models', {})
  const renews = ['GET /cabinet/v1/keys', 'GET /cabinet/v1/summary'] as const
  const create = useAct('POST /cabinet/v1/keys', { quiet: true, renews, done })
  const change = useAct('PATCH /cabinet/v1/keys/:id', { quiet: true, renews, done, said: t('common.saved') })
  const form = useForm<Values>({
    initialValues: valuesOf(edited, zone, most !== null),
    validate: {
      name: (name) => (name.trim() === '' ? t('common.required') : null),
      limit: (limit, { kind }) => (kind !== 'none' && limit === '' ? t('common.required') : null),
    },
  })
  const failure = create.error ?? change.error
  const problem = fieldFailure(failure, ['name'])
  const submit = (values: Values): void => {
    const body = bodyOf(values, zone)
    if (edited === null) create.mutate({ body })
    else change.mutate({ params: { id: edited.id }, body })
  }
  return (
    <form onSubmit={form.onSubmit(submit)}>
      <Stack>
        {failure !== null && problem === null && <Failed failure={failure} />}
        <TextInput
          label={t('keys.name')}
          description={t('keys.name_hint')}
          required
          maxLength={100}
          data-autofocus
          {...form.getInputProps('name')}
          error={problem?.message ?? form.errors['name']}
        />
        <SpendingLimitFields label={t('keys.limit')} kind={form.values.kind} props={form.getInputProps} most={most} />
        <DayField
          label={t('keys.expiry')}
          description={t('keys.expiry_hint')}
          value={form.values.expires}
          onChange={(day) => form.setFieldValue('expires', day)}
        />
        <MultiSelect
          label={t('keys.models')}
          description={t('keys.models_hint')}
          searchable
          clearable
          limit={50}
          clearButtonProps={{ 'aria-label': t('common.clear') }}
          data={(models.data?.data ?? []).map(({ id }) => id)}
          {...form.getInputProps('models')}
        />
        <KeyLimitFields form={form} models={(models.data?.data ?? []).map(({ id }) => id)} />
        <Group justify="flex-end">
          <Button type="submit" loading={create.isPending || change.isPending}>
            {edited === null ? t('keys.create') : t('common.save')}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

/** `isBounded`: each key of this person needs a monthly limit. */
function valuesOf(key: Key | null, zone: string, isBounded: boolean): Values {
  return {
    name: key?.name ?? '',
    ...spendingLimitOf(key),
    ...(key === null && isBounded ? { kind: 'periodic' } : {}),
    expires: key?.expires_at === null || key === null ? '' : dayIn(Date.parse(key.expires_at), zone),
    models: [...(key?.allowed_models ?? [])],
    ...limitValuesOf(key),
  }
}

function bodyOf({ name, kind, limit, reset, expires, models, ...limits }: Values, zone: string): KeyBody {
  return {
    name: name.trim(),
    ...spendingLimitBody({ kind, limit, reset }),
    expires_at: lastSecondOf(expires, zone),
    allowed_models: models.length === 0 ? null : models,
    ...limitBodyOf(limits),
  }
}

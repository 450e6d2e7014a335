import { ActionIcon, Autocomplete, Button, Collapse, Group, Stack, TagsInput, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Key, KeyBody, NewKey } from '../../../../src/api/cabinet/key-contract.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { DayField } from '../../parts/DayField.tsx'
import { changedFields, type Fields, Form, useFields } from '../../parts/Form.tsx'
import { NumberField } from '../../parts/NumberField.tsx'
import {
  ModelsField,
  type SpendingLimit,
  spendingLimitBody,
  SpendingLimitFields,
  spendingLimitOf,
} from '../../parts/SpendingLimitFields.tsx'
import { PlusIcon, TrashIcon } from '../../parts/icons.ts'
import { numberOf, plainNumber } from '../../parts/number-text.ts'
import { format, t } from '../../parts/words.ts'
import { dayIn, lastSecondOf } from '../../parts/zoned-day.ts'
import { useProfile } from '../../session.tsx'
import { type AnyKey, keyRoutes } from './key-routes.ts'

/** A key's values in its form; an empty text is no limit. */
interface Values extends SpendingLimit {
  readonly name: string
  /** `YYYY-MM-DD`: the last day on which the key is valid; empty = it never expires. */
  readonly expires: string
  readonly models: string[]
  readonly requests: string
  readonly tokens: string
  readonly running: string
  readonly ips: string[]
  readonly modelLimits: ModelRow[]
}

interface ModelRow {
  readonly model: string
  readonly requests: string
  readonly tokens: string
}

interface KeyFormProps {
  readonly edited: AnyKey | null
  /** The account of the key, for the operator; absent = the own one. */
  readonly account?: string | undefined
  readonly done: (answer: Key | NewKey) => void
}

/** Creates a key, or changes one. */
export function KeyForm({ edited, account, done }: KeyFormProps) {
  const { zone } = format
  const { monthly_limit: own } = useProfile()
  const most = account === undefined ? own : null
  const models = (
    useRead(account === undefined ? 'GET /cabinet/v1/models' : 'GET /admin/v1/models', {}).data?.data ?? []
  ).map(({ id }) => id)
  const { renews, ofAll, ...routes } = keyRoutes(account)
  const create = useAct(routes.create, { quiet: true, renews, done })
  const change = useAct(routes.change, { quiet: true, renews, done, said: t('common.saved') })
  const [first] = useState(() => valuesOf(edited, zone, most !== null))
  const form = useFields<Values>({
    first,
    check: {
      name: (name: string) => (name.trim() === '' ? t('common.required') : null),
      limit: (limit, { kind }) => (kind !== 'none' && limit === '' ? t('common.required') : null),
    },
    calls: [create, change],
    send: (values) => {
      const body = bodyOf(values, zone)
      if (edited === null) create.mutate({ ...ofAll, body })
      else change.mutate({ params: { id: edited.id }, body: changedFields(bodyOf(first, zone), body) })
    },
  })
  return (
    <Form of={form} form="dialog" act={edited === null ? t('keys.create') : t('common.save')}>
      <TextInput
        label={t('keys.name')}
        description={t('keys.name_hint')}
        required
        data-autofocus
        {...form.field('name')}
      />
      <SpendingLimitFields label={t('keys.limit')} kind={form.values.kind} props={form.field} most={most} />
      <DayField label={t('keys.expiry')} description={t('keys.expiry_hint')} {...form.field('expires')} />
      <ModelsField data={models} {...form.field('models')} />
      <KeyLimitFields form={form} models={models} />
    </Form>
  )
}

/** `isBounded`: each key of this person needs a monthly limit. */
function valuesOf(key: AnyKey | null, zone: string, isBounded: boolean): Values {
  return {
    name: key?.name ?? '',
    ...spendingLimitOf(key),
    ...(key === null && isBounded ? { kind: 'periodic' } : {}),
    expires: key?.expires_at === null || key === null ? '' : dayIn(Date.parse(key.expires_at), zone),
    models: [...(key?.allowed_models ?? [])],
    requests: textOf(key?.requests_per_minute),
    tokens: textOf(key?.tokens_per_minute),
    running: textOf(key?.running_requests),
    ips: [...(key?.allowed_ips ?? [])],
    modelLimits: Object.entries(key?.model_limits ?? {}).map(([model, own]) => ({
      model,
      requests: textOf(own.requests_per_minute),
      tokens: textOf(own.tokens_per_minute),
    })),
  }
}

function bodyOf({ requests, tokens, running, modelLimits, ...values }: Values, zone: string): KeyBody {
  const { name, kind, limit, reset, expires, models, ips } = values
  const limits = modelLimits.map((row) => [
    row.model.trim(),
    { requests_per_minute: numberOf(row.requests), tokens_per_minute: numberOf(row.tokens) },
  ])
  return {
    name: name.trim(),
    ...spendingLimitBody({ kind, limit, reset }),
    expires_at: lastSecondOf(expires, zone),
    allowed_models: models.length === 0 ? null : models,
    requests_per_minute: numberOf(requests),
    tokens_per_minute: numberOf(tokens),
    running_requests: numberOf(running),
    model_limits: limits.length === 0 ? null : Object.fromEntries(limits),
    allowed_ips: ips.length === 0 ? null : ips,
  }
}

const MOST = { requests_per_minute: 1_000_000, tokens_per_minute: 1_000_000_000, running_requests: 10_000 }
const ROWS_MAX = 100

interface LimitFieldsProps {
  readonly form: Fields<Values>
  readonly models: readonly string[]
}

/** Limits of requests, tokens and addresses; folded while the key has none of them. */
function KeyLimitFields({ form, models }: LimitFieldsProps) {
  const [unfolded, setUnfolded] = useState(false)
  // A hidden field could not show why the form is not sent.
  const { field } = form
  const opened = unfolded || hasLimits(form.values)
  return (
    <div>
      <Button variant="subtle" size="compact-sm" aria-expanded={opened} onClick={() => setUnfolded(!opened)}>
        {t('keys.more_limits')}
      </Button>
      <Collapse expanded={opened}>
        <Stack pt="sm">
          <div className="fields">
            <LimitField of="requests_per_minute" {...field('requests')} />
            <LimitField of="tokens_per_minute" {...field('tokens')} />
            <LimitField of="running_requests" {...field('running')} />
          </div>
          <ModelRows form={form} models={models} />
          <TagsInput
            label={t('keys.allowed_ips')}
            description={t('keys.allowed_ips_hint')}
            acceptValueOnBlur
            clearable
            splitChars={[',', ' ', ';']}
            maxTags={ROWS_MAX}
            {...field('ips')}
          />
        </Stack>
      </Collapse>
    </div>
  )
}

interface LimitFieldProps {
  readonly of: keyof typeof MOST
  readonly value?: string
  readonly onChange: (text: string) => void
}

/** A whole number of at least one; other props go to the field. */
function LimitField({ of, ...props }: LimitFieldProps) {
  return <NumberField label={t(`keys.${of}`)} decimals={0} least={1} most={MOST[of]} {...props} />
}

function ModelRows({ form, models }: LimitFieldsProps) {
  const rows = form.values.modelLimits
  const set = (modelLimits: ModelRow[]): void => form.set({ modelLimits })
  const change = (index: number, part: Partial<ModelRow>): void =>
    set(rows.map((row, each) => (each === index ? { ...row, ...part } : row)))
  return (
    <div>
      <Text size="sm" fw={500}>
        {t('keys.model_limits')}
      </Text>
      <Text size="xs" c="dimmed" mb={6}>
        {t('keys.model_limits_hint')}
      </Text>
      <Stack gap="xs">
        {rows.map((row, index) => (
          <ModelRowFields
            // Rows have no name until one is typed, and are only added at the end.
            key={index}
            row={row}
            models={models}
            change={(part) => change(index, part)}
            remove={() => set(rows.filter((_row, each) => each !== index))}
          />
        ))}
      </Stack>
      {rows.length < ROWS_MAX && (
        <Button
          variant="subtle"
          size="compact-sm"
          mt={6}
          leftSection={<PlusIcon size={15} />}
          onClick={() => set([...rows, { model: '', requests: '', tokens: '' }])}
        >
          {t('keys.model_limit_add')}
        </Button>
      )}
    </div>
  )
}

interface ModelRowFieldsProps {
  readonly row: ModelRow
  readonly models: readonly string[]
  readonly change: (part: Partial<ModelRow>) => void
  readonly remove: () => void
}

function ModelRowFields({ row, models, change, remove }: ModelRowFieldsProps) {
  return (
    <Group align="end" wrap="nowrap">
      <div className="fields" style={{ flex: 1 }}>
        <Autocomplete
          label={t('keys.model')}
          required
          limit={50}
          data={[...models]}
          value={row.model}
          onChange={(model) => change({ model })}
        />
        <LimitField of="requests_per_minute" value={row.requests} onChange={(requests) => change({ requests })} />
        <LimitField of="tokens_per_minute" value={row.tokens} onChange={(tokens) => change({ tokens })} />
      </div>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="lg"
        aria-label={t('keys.model_limit_remove', { model: row.model })}
        onClick={remove}
      >
        <TrashIcon size={16} />
      </ActionIcon>
    </Group>
  )
}

function hasLimits({ requests, tokens, running, ips, modelLimits }: Values): boolean {
  return [requests, tokens, running].some((text) => text !== '') || ips.length > 0 || modelLimits.length > 0
}

function textOf(limit: number | null | undefined): string {
  return limit === null || limit === undefined ? '' : plainNumber(limit)
}

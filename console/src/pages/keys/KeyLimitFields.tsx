import { ActionIcon, Autocomplete, Button, Collapse, Group, Stack, TagsInput, Text } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Key, KeyBody } from '../../../../src/api/cabinet/key-contract.ts'
import { PlusIcon, TrashIcon } from '../../parts/icons.ts'
import { NumberField } from '../../parts/NumberField.tsx'
import { plainNumber } from '../../parts/number-text.ts'
import css from '../../style/layout.module.css'

interface ModelRow {
  readonly model: string
  readonly requests: string
  readonly tokens: string
}

/** The limits of a key as its form holds them; an empty text is no limit. */
export interface LimitValues {
  readonly requests: string
  readonly tokens: string
  readonly running: string
  readonly ips: string[]
  readonly modelLimits: ModelRow[]
}

type LimitNames = 'requests_per_minute' | 'tokens_per_minute' | 'running_requests' | 'model_limits' | 'allowed_ips'

const MOST = { requests_per_minute: 1_000_000, tokens_per_minute: 1_000_000_000, running_requests: 10_000 }
const ROWS_MAX = 100

/** Requests, tokens and addresses: folded while the key has none of these limits. */
export function KeyLimitFields<V extends LimitValues>({
  form,
  models,
}: {
  readonly form: UseFormReturnType<V>
  readonly models: readonly string[]
}): ReactNode {
  const { t } = useTranslation()
  const [unfolded, setUnfolded] = useState(false)
  // A field that is hidden could not say why the form is not sent.
  const opened = unfolded || hasLimits(form.values)
  return (
    <div>
      <Button variant="subtle" size="compact-sm" aria-expanded={opened} onClick={() => setUnfolded(!opened)}>
        {t('keys.more_limits')}
      </Button>
      <Collapse expanded={opened}>
        <Stack pt="sm">
          <div className={css.fields}>
            <LimitField of="requests_per_minute" {...form.getInputProps('requests')} />
            <LimitField of="tokens_per_minute" {...form.getInputProps('tokens')} />
            <LimitField of="running_requests" {...form.getInputProps('running')} />
          </div>
          <ModelRows form={form} models={models} />
          <TagsInput
            label={t('keys.allowed_ips')}
            description={t('keys.allowed_ips_hint')}
            acceptValueOnBlur
            clearable
            clearButtonProps={{ 'aria-label': t('common.clear') }}
            splitChars={[',', ' ', ';']}
            maxTags={ROWS_MAX}
            {...form.getInputProps('ips')}
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

/** A whole number of at least one; the props of a form's field go to the field. */
function LimitField({ of, ...props }: LimitFieldProps): ReactNode {
  const { t } = useTranslation()
  return <NumberField label={t(`keys.${of}`)} decimals={0} least={1} most={MOST[of]} {...props} />
}

function ModelRows<V extends LimitValues>({
  form,
  models,
}: {
  readonly form: UseFormReturnType<V>
  readonly models: readonly string[]
}): ReactNode {
  const { t } = useTranslation()
  const rows = form.values.modelLimits
  const set = (next: readonly ModelRow[]): void => form.setValues({ modelLimits: [...next] } as unknown as Partial<V>)
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
            // Rows have no name before one is typed; they are only added at the end.
            // oxlint-disable-next-line react/no-array-index-key
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

function ModelRowFields({
  row,
  models,
  change,
  remove,
}: {
  readonly row: ModelRow
  readonly models: readonly string[]
  readonly change: (part: Partial<ModelRow>) => void
  readonly remove: () => void
}): ReactNode {
  const { t } = useTranslation()
  return (
    <Group align="end" wrap="nowrap">
      <div className={css.fields} style={{ flex: 1 }}>
        <Autocomplete
          label={t('keys.model')}
          required
          maxLength={200}
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

function hasLimits({ requests, tokens, running, ips, modelLimits }: LimitValues): boolean {
  return [requests, tokens, running].some((text) => text !== '') || ips.length > 0 || modelLimits.length > 0
}

export function limitValuesOf(key: Pick<Key, LimitNames> | null): LimitValues {
  return {
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

export function limitBodyOf({
  requests,
  tokens,
  running,
  ips,
  modelLimits,
}: LimitValues): Required<Pick<KeyBody, LimitNames>> {
  return {
    requests_per_minute: numberOf(requests),
    tokens_per_minute: numberOf(tokens),
    running_requests: numberOf(running),
    model_limits:
      modelLimits.length === 0
        ? null
        : Object.fromEntries(
            modelLimits.map((row) => [
              row.model.trim(),
              { requests_per_minute: numberOf(row.requests), tokens_per_minute: numberOf(row.tokens) },
            ]),
          ),
    allowed_ips: ips.length === 0 ? null : ips,
  }
}

function textOf(limit: number | null | undefined): string {
  return limit === null || limit === undefined ? '' : plainNumber(limit)
}

function numberOf(text: string): number | null {
  return text === '' ? null : Number(text)
}

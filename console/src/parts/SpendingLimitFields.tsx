import { MultiSelect, type MultiSelectProps, SegmentedControl, Select, Text } from '@mantine/core'
import type { GetInputPropsReturnType } from '@mantine/form'
import type { LimitReset } from '../../../src/api/cabinet/key-contract.ts'
import { NumberField } from './NumberField.tsx'
import { plainNumber } from './number-text.ts'
import { format, t } from './words.ts'

type LimitKind = 'none' | 'fixed' | 'periodic'

/** A spending limit as a form has it. */
export interface SpendingLimit {
  readonly kind: LimitKind
  readonly limit: string
  readonly reset: LimitReset
}

interface Limited {
  readonly limit?: number | null
  readonly limit_reset?: LimitReset | null
}

interface SpendingLimitFieldsProps {
  readonly kind: LimitKind
  readonly props: (name: keyof SpendingLimit) => GetInputPropsReturnType
  readonly label: string
  /** What the keys of this person may spend in a month; null = no limit of their own. */
  readonly most?: number | null
}

/** Whether there is a limit, how much it is, and when it starts again. */
export function SpendingLimitFields({ kind, props, label, most = null }: SpendingLimitFieldsProps) {
  return (
    <>
      <div>
        <Text size="sm" fw={500} mb={4}>
          {label}
        </Text>
        {most !== null && (
          <Text size="xs" c="dimmed" mb={6}>
            {t('keys.member_limit', { most: format.money(most) })}
          </Text>
        )}
        <SegmentedControl
          fullWidth
          data={(['none', 'fixed', 'periodic'] as const).map((value) => ({ value, label: t(`keys.kind_${value}`) }))}
          aria-label={label}
          {...props('kind')}
        />
      </div>
      {kind !== 'none' && (
        <div className="fields">
          <NumberField label={t('keys.amount')} unit="₽" decimals={6} least={0} required {...props('limit')} />
          {kind === 'periodic' && (
            <Select
              label={t('keys.reset')}
              data={(['daily', 'weekly', 'monthly'] as const).map((value) => ({
                value,
                label: t(`keys.reset_${value}`),
              }))}
              {...props('reset')}
            />
          )}
        </div>
      )}
    </>
  )
}

/** A field for the only models that may be used; none = all. */
export function ModelsField(props: MultiSelectProps) {
  return (
    <MultiSelect
      label={t('keys.models')}
      description={t('keys.models_hint')}
      searchable
      clearable
      limit={60}
      {...props}
    />
  )
}

export function spendingLimitOf(record: Limited | null): SpendingLimit {
  const { limit = null, limit_reset: reset = null } = record ?? {}
  return {
    kind: limit === null ? 'none' : reset === null ? 'fixed' : 'periodic',
    limit: limit === null ? '' : plainNumber(limit),
    reset: reset ?? 'monthly',
  }
}

export function spendingLimitBody({ kind, limit, reset }: SpendingLimit): {
  readonly limit: number | null
  readonly limit_reset: LimitReset | null
} {
  return { limit: kind === 'none' ? null : Number(limit), limit_reset: kind === 'periodic' ? reset : null }
}

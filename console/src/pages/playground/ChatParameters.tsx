import { Textarea } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { NumberField } from '../../parts/NumberField.tsx'
import { isPlainNumber } from '../../parts/number-text.ts'
import css from '../../style/layout.module.css'

const NUMBERS = [
  { name: 'temperature', decimals: 4, least: 0, most: 2 },
  { name: 'top_p', decimals: 4, least: 0, most: 1 },
  { name: 'max_tokens', decimals: 0, least: 1, most: 10_000_000 },
  { name: 'frequency_penalty', decimals: 4, least: -2, most: 2 },
  { name: 'presence_penalty', decimals: 4, least: -2, most: 2 },
  { name: 'seed', decimals: 0, least: -2_147_483_648, most: 2_147_483_647 },
] as const
type NumberName = (typeof NUMBERS)[number]['name']

export interface Parameters {
  readonly system: string
  /** Empty = left to the model. */
  readonly numbers: Readonly<Partial<Record<NumberName, string>>>
}

export const NO_PARAMETERS: Parameters = { system: '', numbers: {} }

export function ChatParameters({
  value,
  change,
}: {
  readonly value: Parameters
  readonly change: (value: Parameters) => void
}): ReactNode {
  const { t } = useTranslation()
  return (
    <div className={css.page}>
      <Textarea
        label={t('play.system')}
        autosize
        minRows={2}
        maxRows={8}
        value={value.system}
        onChange={({ currentTarget }) => change({ ...value, system: currentTarget.value })}
      />
      <div className={css.fields}>
        {NUMBERS.map(({ name, ...bounds }) => (
          <NumberField
            key={name}
            label={name}
            placeholder={t('play.default')}
            {...bounds}
            value={value.numbers[name] ?? ''}
            onChange={(number) => change({ ...value, numbers: { ...value.numbers, [name]: number } })}
          />
        ))}
      </div>
    </div>
  )
}

/** Every number can be read. */
export function areReadable({ numbers }: Parameters): boolean {
  return Object.values(numbers).every((value) => value === '' || isPlainNumber(value))
}

export function parametersBody({ numbers }: Parameters): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(numbers)
      .filter(([, value]) => value !== '')
      .map(([name, value]) => [name, Number(value)]),
  )
}

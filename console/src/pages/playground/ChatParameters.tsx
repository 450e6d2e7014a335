import { NumberInput, Textarea } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import css from '../../style/layout.module.css'

const NUMBERS = [
  { name: 'temperature', min: 0, max: 2, step: 0.1 },
  { name: 'top_p', min: 0, max: 1, step: 0.05 },
  { name: 'max_tokens', min: 1, max: 10_000_000, step: 100 },
  { name: 'frequency_penalty', min: -2, max: 2, step: 0.1 },
  { name: 'presence_penalty', min: -2, max: 2, step: 0.1 },
  { name: 'seed', min: -2_147_483_648, max: 2_147_483_647, step: 1 },
] as const
type NumberName = (typeof NUMBERS)[number]['name']

export interface Parameters {
  readonly system: string
  /** Empty = left to the model. */
  readonly numbers: Readonly<Partial<Record<NumberName, number | string>>>
}

export const NO_PARAMETERS: Parameters = { system: '', numbers: {} }

export function ChatParameters({ value, change }: { readonly value: Parameters; readonly change: (value: Parameters) => void }): ReactNode {
  const { t } = useTranslation()
  return (
    <div className={css.page}>
      <Textarea label={t('play.system')} autosize minRows={2} maxRows={8} value={value.system} onChange={({ currentTarget }) => change({ ...value, system: currentTarget.value })} />
      <div className={css.fields}>
        {NUMBERS.map(({ name, ...bounds }) => <NumberInput key={name} label={name} placeholder={t('play.default')} {...bounds} value={value.numbers[name] ?? ''} onChange={(number) => change({ ...value, numbers: { ...value.numbers, [name]: number } })} />)}
      </div>
    </div>
  )
}

export function parametersBody({ numbers }: Parameters): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(numbers).filter(([, value]) => value !== '').map(([name, value]) => [name, Number(value)]))
}

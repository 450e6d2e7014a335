import { NativeSelect } from '@mantine/core'
import { type ComponentProps, useState } from 'react'
import { given } from '../api/endpoint.ts'
import { NumberField } from './NumberField.tsx'
import { t } from './words.ts'

const SECONDS = { seconds: 1, minutes: 60, hours: 3_600, days: 86_400 } as const
export type DurationUnit = keyof typeof SECONDS
// The keys of the table are exactly the units.
const UNITS = Object.keys(SECONDS) as readonly DurationUnit[]

interface DurationFieldProps extends Omit<ComponentProps<typeof NumberField>, 'decimals' | 'unit'> {
  /** The unit of the value; the field offers longer ones too. */
  readonly base: DurationUnit
}

/** The field for a time: a whole number in the unit that people would use for it. */
export function DurationField({ base, value = '', onChange, least, most, ...props }: DurationFieldProps) {
  const factorOf = (unit: DurationUnit): number => SECONDS[unit] / SECONDS[base]
  const units = UNITS.filter((unit) => factorOf(unit) >= 1)
  const fits = (unit: DurationUnit): boolean => Number(value) > 0 && Number(value) % factorOf(unit) === 0
  const [chosen, choose] = useState(() => units.findLast(fits) ?? base)
  // A value from outside, such as that of a reset, may not be whole in this unit.
  const unit = value === '' || Number.isNaN(Number(value)) || Number(value) % factorOf(chosen) === 0 ? chosen : base
  const factor = factorOf(unit)
  const shown = Math.round(Number(value) / factor) || 0
  const times = (text: string, by: number): string =>
    text.trim() === '' || Number.isNaN(Number(text)) ? text : String(Number(text) * by)
  return (
    <NumberField
      {...props}
      decimals={0}
      value={times(value, 1 / factor)}
      onChange={(typed) => onChange(times(typed, factor))}
      {...given({
        least: least === undefined ? undefined : Math.ceil(least / factor),
        most: most === undefined ? undefined : Math.floor(most / factor),
      })}
      rightSectionWidth={108}
      rightSection={
        <NativeSelect
          aria-label={t('unit.of')}
          variant="unstyled"
          w={100}
          rightSectionWidth={24}
          styles={{ input: { height: 30, minHeight: 30, lineHeight: '30px', paddingInline: '0 24px' } }}
          data={units.map((name) => ({ value: name, label: t(`unit.${name}`, { count: shown }) }))}
          value={unit}
          onChange={({ currentTarget }) => {
            const next = units.find((name) => name === currentTarget.value) ?? base
            onChange(times(value, factorOf(next) / factor))
            choose(next)
          }}
        />
      }
    />
  )
}

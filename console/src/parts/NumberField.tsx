import { TextInput, type TextInputProps } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { given } from '../api/endpoint.ts'
import { type NumberBounds, readNumber, writtenNumber } from './number-text.ts'
import { format, t } from './words.ts'
import { Note } from './cells.tsx'

interface NumberFieldProps extends NumberBounds, Omit<TextInputProps, 'value' | 'onChange' | 'defaultValue'> {
  /** A plain decimal such as `1234.5`, or a text that could not be read; empty = no number. */
  readonly value?: string
  readonly onChange: (value: string) => void
  /** Shown after the number, such as ₽. */
  readonly unit?: string
}

/**
 * The field for every number that a user types: an amount, a price, a count. It reads English and Russian notation, and
 * shows how it read the number when the focus leaves it. It never changes a number silently: for an ambiguous number,
 * or one out of bounds, it shows a message and the form cannot be sent.
 */
export function NumberField({
  value = '',
  onChange,
  decimals,
  least,
  most,
  unit,
  error,
  onBlur,
  ...props
}: NumberFieldProps) {
  const { decimalMark } = format
  const [told, setTold] = useState(value)
  const [text, setText] = useState(() => writtenNumber(value, decimalMark))
  const input = useRef<HTMLInputElement>(null)
  const bounds: NumberBounds = { decimals, ...given({ least, most }) }
  if (value !== told) {
    // The value was set from outside: the form was reset, or a button has set an amount.
    setTold(value)
    setText(writtenNumber(value, decimalMark))
  }
  const reading = text.trim() === '' ? null : readNumber(text, bounds)
  const problem = reading !== null && 'problem' in reading ? t(`number.${reading.problem}`, { ...reading.shown }) : null
  // The browser does not send a form that has a field with a custom validity message.
  useEffect(() => input.current?.setCustomValidity(problem ?? ''), [problem])
  const type = (typed: string): void => {
    const read = typed.trim() === '' ? null : readNumber(typed, bounds)
    const next = read === null ? '' : 'value' in read ? read.value : typed
    setText(typed)
    setTold(next)
    onChange(next)
  }
  return (
    <TextInput
      {...props}
      ref={input}
      inputMode={decimals === 0 && (least ?? 0) >= 0 ? 'numeric' : 'decimal'}
      autoComplete="off"
      value={text}
      error={problem ?? error}
      onChange={({ currentTarget }) => type(currentTarget.value)}
      onBlur={(event) => {
        if (reading !== null && 'value' in reading) setText(writtenNumber(reading.value, decimalMark))
        onBlur?.(event)
      }}
      {...(unit === undefined
        ? {}
        : {
            rightSection: <Note>{unit}</Note>,
            rightSectionWidth: unit.length > 1 ? 48 : 32,
            rightSectionPointerEvents: 'none' as const,
          })}
    />
  )
}

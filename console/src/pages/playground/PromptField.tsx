import { Textarea } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { ChoiceField } from '../../parts/ChoiceField.tsx'

export interface PromptFieldProps {
  readonly label: string
  readonly value: string
  readonly change: (value: string) => void
  readonly maxLength?: number
}

/** The text that a model works on. */
export function PromptField({ change, ...props }: PromptFieldProps): ReactNode {
  return <Textarea autosize minRows={3} {...props} onChange={({ currentTarget }) => change(currentTarget.value)} />
}

export interface OptionFieldProps {
  readonly label: string
  /** What the model offers; a field with nothing to choose is not shown. */
  readonly data: readonly string[]
  readonly value: string | null
  readonly change: (value: string | null) => void
}

/** One of what a model offers; nothing chosen is the model's default. */
export function OptionField({ data, change, ...props }: OptionFieldProps): ReactNode {
  const { t } = useTranslation()
  return (
    data.length > 0 && <ChoiceField placeholder={t('play.default')} data={[...data]} {...props} onChange={change} />
  )
}

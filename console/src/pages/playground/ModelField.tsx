import { Select } from '@mantine/core'
import type { ReactNode } from 'react'
import type { ModelRow } from '../../../../src/api/cabinet/model-contract.ts'

export interface ModelFieldProps {
  readonly label: string
  readonly models: readonly ModelRow[]
  readonly value: string
  readonly choose: (id: string) => void
}

export function ModelField({ label, models, value, choose }: ModelFieldProps): ReactNode {
  return (
    <Select
      label={label}
      searchable
      limit={80}
      value={value}
      onChange={(id) => id !== null && choose(id)}
      data={models.map(({ id, name }) => ({ value: id, label: name }))}
    />
  )
}

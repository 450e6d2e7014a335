import { JsonInput, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { ModelEntry } from '../../../../src/api/admin/catalog-contract.ts'

/** A model as the catalogue file has it, with every field there is. */
export function ModelText({
  text,
  change,
}: {
  readonly text: string
  readonly change: (text: string) => void
}): ReactNode {
  const { t } = useTranslation()
  return (
    <Stack gap="xs">
      <Text size="sm" c="dimmed">
        {t('prices.form_lead')}
      </Text>
      <JsonInput
        label={t('prices.entry')}
        value={text}
        onChange={change}
        autosize
        minRows={12}
        maxRows={24}
        formatOnBlur
        error={parsedModel(text) === null ? t('prices.no_json') : null}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
      />
    </Stack>
  )
}

export function parsedModel(text: string): ModelEntry | null {
  try {
    const value: unknown = JSON.parse(text)
    const isModel =
      value !== null &&
      typeof value === 'object' &&
      'id' in value &&
      typeof value.id === 'string' &&
      'endpoints' in value &&
      Array.isArray(value.endpoints) &&
      value.endpoints.every(hasPrice)
    // The server checks the rest, field by field.
    return isModel ? (value as ModelEntry) : null
  } catch {
    return null
  }
}

function hasPrice(endpoint: unknown): boolean {
  return (
    endpoint !== null &&
    typeof endpoint === 'object' &&
    'price' in endpoint &&
    endpoint.price !== null &&
    typeof endpoint.price === 'object'
  )
}

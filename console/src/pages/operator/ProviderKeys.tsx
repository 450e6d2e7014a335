import { Button, Group, PasswordInput, Stack } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { PlusIcon } from '../../parts/icons.ts'

export interface ProviderKeysProps {
  readonly keys: readonly string[]
  readonly isNew: boolean
  readonly change: (keys: readonly string[]) => void
}

/**
 * The credentials of a provider. Several keys share the load where each has a limit. They can be written and never
 * read.
 */
export function ProviderKeys({ keys, isNew, change }: ProviderKeysProps): ReactNode {
  const { t } = useTranslation()
  return (
    <Stack gap="xs">
      {keys.map((value, index) => (
        <PasswordInput
          // A field is identified only by its position: its content must not appear anywhere else.
          key={index}
          label={index === 0 ? t('providers.key') : t('providers.key_more', { number: index + 1 })}
          description={index === 0 ? t(isNew ? 'providers.key_hint' : 'providers.key_stays') : undefined}
          autoComplete="off"
          visibilityToggleButtonProps={{ 'aria-label': t('entry.show_password') }}
          value={value}
          onChange={({ currentTarget }) => change(keys.map((key, at) => (at === index ? currentTarget.value : key)))}
        />
      ))}
      <Group>
        <Button
          variant="subtle"
          size="compact-sm"
          leftSection={<PlusIcon size={15} />}
          onClick={() => change([...keys, ''])}
        >
          {t('providers.key_add')}
        </Button>
      </Group>
    </Stack>
  )
}

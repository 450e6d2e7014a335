import { Select, Stack, Text } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useRead } from '../../api/hooks.ts'
import { CopyBlock } from '../../parts/Copy.tsx'
import { useSession } from '../../session.tsx'
import { CLIENT_SETUPS } from '../../../../src/tables/client-setups.ts'

const PLACEHOLDER = 'sk-tg-…'

/** Settings of the programs that people use, with this service's address and, right after it was made, the key. */
export function UseItWith({ apiKey = PLACEHOLDER }: { readonly apiKey?: string }): ReactNode {
  const { t } = useTranslation()
  const { service } = useSession()
  const summary = useRead('GET /cabinet/v1/summary', {})
  const [name, setName] = useState(CLIENT_SETUPS[0]?.name ?? '')
  const parts = CLIENT_SETUPS.find((setup) => setup.name === name)?.parts({
    root: service.api_base.replace(/\/v1$/, ''),
    base: service.api_base,
    key: apiKey,
    model: summary.data?.example_model ?? 'sandbox/chat',
  })
  return (
    <Stack gap="sm">
      <Select
        label={t('keys.use_with')}
        description={t('keys.use_with_hint')}
        data={CLIENT_SETUPS.map((setup) => setup.name)}
        value={name}
        onChange={(value) => value !== null && setName(value)}
        allowDeselect={false}
      />
      {parts?.map(({ file, form, text }) => {
        const place = form === true ? t('keys.in_form') : t('keys.in_terminal')
        return (
          <div key={text}>
            <Text size="sm" c="dimmed" mb={4}>
              {file === undefined ? place : t('keys.in_file', { file })}
            </Text>
            <CopyBlock text={text} label={file ?? place} />
          </div>
        )
      })}
    </Stack>
  )
}

import { Button, Group, JsonInput, Stack, Text } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { ModelEntry } from '../../../../src/admin/contract.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { confirm } from '../../parts/confirm.tsx'
import { Failed, Loaded } from '../../parts/Loaded.tsx'

const RENEWS = ['GET /admin/v1/catalog', 'GET /admin/v1/models', 'GET /cabinet/v1/models'] as const
const EXAMPLE: ModelEntry = { id: 'vendor/name', type: 'chat', context_length: 128_000, endpoints: [{ provider: 'openai', model: 'name', price: { currency: 'USD', prompt: 1, completion: 2 } }] }

/** A model with its endpoints and prices, written as in the catalogue file; the server checks every field. */
export function ModelForm({ id, done }: { readonly id: string | null; readonly done: () => void }): ReactNode {
  const catalog = useRead('GET /admin/v1/catalog', {})
  if (id === null) return <Editor first={EXAMPLE} isNew done={done} />
  return <Loaded of={catalog} height={400}>{({ models }) => <Editor first={models.find((model) => model.id === id) ?? { ...EXAMPLE, id }} isNew={false} done={done} />}</Loaded>
}

function Editor({ first, isNew, done }: { readonly first: ModelEntry; readonly isNew: boolean; readonly done: () => void }): ReactNode {
  const { t } = useTranslation()
  const [text, setText] = useState(JSON.stringify(first, null, 2))
  const put = useAct('PUT /admin/v1/models/*id', { quiet: true, said: t('common.saved'), renews: RENEWS, done })
  const remove = useAct('DELETE /admin/v1/models/*id', { renews: RENEWS, said: t('prices.deleted'), done })
  const entry = parsed(text)
  const toggle = (field: 'active' | 'hidden', value: boolean): void => {
    if (entry !== null) setText(JSON.stringify({ ...entry, [field]: value }, null, 2))
  }
  const ask = (): void => confirm({ title: t('providers.ask_delete', { name: first.id }), text: t('prices.ask_delete_text'), act: t('common.delete'), onConfirm: () => remove.mutate({ params: { id: first.id } }) })
  return (
    <Stack>
      {put.isError && <Failed failure={put.error} />}
      <Text size="sm" c="dimmed">{t('prices.form_lead')}</Text>
      <JsonInput label={t('prices.entry')} value={text} onChange={setText} autosize minRows={12} maxRows={26} formatOnBlur error={entry === null ? t('prices.no_json') : null} styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }} />
      <Group justify="space-between">
        <Group gap="xs">
          {entry !== null && <Button variant="default" size="xs" onClick={() => toggle('active', entry.active === false)}>{t(entry.active === false ? 'prices.turn_on' : 'prices.turn_off')}</Button>}
          {entry !== null && <Button variant="default" size="xs" onClick={() => toggle('hidden', entry.hidden !== true)}>{t(entry.hidden === true ? 'prices.show' : 'prices.hide')}</Button>}
          {!isNew && <Button variant="subtle" color="red" size="xs" onClick={ask}>{t('common.delete')}</Button>}
        </Group>
        <Button disabled={entry === null} loading={put.isPending} onClick={() => entry !== null && put.mutate({ params: { id: entry.id }, body: entry })}>{t('common.save')}</Button>
      </Group>
    </Stack>
  )
}

function parsed(text: string): ModelEntry | null {
  try {
    const value: unknown = JSON.parse(text)
    // The server checks the rest, field by field.
    return value !== null && typeof value === 'object' && 'id' in value && typeof value.id === 'string' ? (value as ModelEntry) : null
  } catch {
    return null
  }
}

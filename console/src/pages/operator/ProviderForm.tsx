import { Button, PasswordInput, Stack, Switch, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { ProviderEntry } from '../../../../src/admin/contract.ts'
import { useAct } from '../../api/hooks.ts'
import { Failed } from '../../parts/Loaded.tsx'

export interface ProviderFormProps {
  readonly edited: { readonly slug: string; readonly entry: ProviderEntry } | null
  readonly done: () => void
}

/** A provider's entry. A credential left empty stays as it is. */
export function ProviderForm({ edited, done }: ProviderFormProps): ReactNode {
  const { t } = useTranslation()
  const put = useAct('PUT /admin/v1/providers/:slug', { quiet: true, said: t('common.saved'), renews: ['GET /admin/v1/catalog', 'GET /admin/v1/models'], done })
  const entry = edited?.entry
  const form = useForm({
    initialValues: { slug: edited?.slug ?? '', name: entry?.name ?? '', adapter: entry?.adapter ?? 'openai', address: entry?.base_url ?? '', key: '', stops: entry?.cancel_stops_billing ?? false },
  })
  return (
    <form
      onSubmit={form.onSubmit(({ slug, name, adapter, address, key, stops }) => {
        // What the form does not show stays, so that editing a name loses no time-out.
        const { name: _name, base_url: _address, ...kept } = entry ?? { adapter }
        put.mutate({ params: { slug: slug.trim() }, body: { ...kept, adapter: adapter.trim(), cancel_stops_billing: stops, ...(name.trim() === '' ? {} : { name: name.trim() }), ...(address.trim() === '' ? {} : { base_url: address.trim() }), ...(key === '' ? {} : { api_key: key }) } })
      })}
    >
      <Stack>
        {put.isError && <Failed failure={put.error} />}
        <TextInput label={t('providers.slug')} description={t('providers.slug_hint')} required disabled={edited !== null} {...form.getInputProps('slug')} />
        <TextInput label={t('keys.name')} {...form.getInputProps('name')} />
        <TextInput label={t('providers.adapter')} description="openai, anthropic, gemini, cohere, bedrock, ollama…" required {...form.getInputProps('adapter')} />
        <TextInput label={t('providers.address')} type="url" placeholder="https://" {...form.getInputProps('address')} />
        <PasswordInput label={t('providers.key')} description={edited === null ? t('providers.key_hint') : t('providers.key_stays')} autoComplete="off" visibilityToggleButtonProps={{ 'aria-label': t('entry.show_password') }} {...form.getInputProps('key')} />
        <Switch label={t('providers.stops')} {...form.getInputProps('stops', { type: 'checkbox' })} />
        <Text size="xs" c="dimmed">{t('providers.more')}</Text>
        <Button type="submit" loading={put.isPending}>{t('common.save')}</Button>
      </Stack>
    </form>
  )
}

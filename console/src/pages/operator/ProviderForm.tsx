import { Autocomplete, Button, Group, PasswordInput, Stack, Switch, Text, TextInput } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { CatalogDocument } from '../../../../src/api/admin/catalog-contract.ts'
import { adapters } from 'virtual:adapters'
import { PROVIDER_TIMEOUTS } from '../../../../src/tables/settings-table.ts'
import { ownValue } from '../../../../src/base/own-value.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { Failed, Loaded } from '../../parts/Loaded.tsx'
import { NumberField } from '../../parts/NumberField.tsx'
import css from '../../style/layout.module.css'
import { PlusIcon } from '../../parts/icons.ts'
import { MarkupField } from './MarkupField.tsx'
import { Difference } from './Difference.tsx'
import { providerDraft, providerEntry, TIMEOUT_NAMES, type ProviderDraft } from './provider-draft.ts'

const RENEWS = ['GET /admin/v1/catalog', 'GET /admin/v1/catalog/warnings', 'GET /admin/v1/models'] as const

export interface ProviderFormProps {
  readonly slug: string
  readonly done: () => void
}

/** The entry of a provider. The form shows the changes before it applies them. */
export function ProviderForm({ slug, done }: ProviderFormProps): ReactNode {
  const catalog = useRead('GET /admin/v1/catalog', {})
  return (
    <Loaded of={catalog} height={480}>
      {(document) => <Editor document={document} edited={slug} done={done} />}
    </Loaded>
  )
}

interface EditorProps {
  readonly document: CatalogDocument
  readonly edited: string
  readonly done: () => void
}

function Editor({ document, edited, done }: EditorProps): ReactNode {
  const { t } = useTranslation()
  const before = ownValue(document.providers, edited) ?? null
  const [draft, setDraft] = useState(() => providerDraft(edited, before))
  const look = useAct('PUT /admin/v1/catalog', { quiet: true })
  const put = useAct('PUT /admin/v1/providers/:slug', { quiet: true, said: t('common.saved'), renews: RENEWS, done })
  const change = (part: Partial<ProviderDraft>): void => {
    look.reset()
    put.reset()
    setDraft({ ...draft, ...part })
  }
  const { slug } = draft
  const entry = providerEntry(draft, before)
  const failure = look.error ?? put.error
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        look.mutate({
          query: { dry_run: '1' },
          body: { ...document, providers: { ...document.providers, [slug]: entry } },
        })
      }}
    >
      <Stack>
        <Service draft={draft} change={change} />
        <ProviderKeys keys={draft.keys} change={(keys) => change({ keys })} />
        <MarkupField
          value={draft.markup}
          description={t('prices.markup_of_provider')}
          onChange={(markup) => change({ markup })}
        />
        <Timeouts draft={draft} change={change} />
        <Switch
          label={t('providers.stops')}
          checked={draft.stops}
          onChange={({ currentTarget }) => change({ stops: currentTarget.checked })}
        />
        <Text size="xs" c="dimmed">
          {t('providers.more')}
        </Text>
        {failure !== null && <Failed failure={failure} />}
        <Group justify="flex-end">
          <Button type="submit" loading={look.isPending} variant={look.data === undefined ? 'filled' : 'default'}>
            {t('catalog.compare')}
          </Button>
        </Group>
        {look.data !== undefined && (
          <Difference
            change={look.data}
            busy={put.isPending}
            concerns={({ params }) => 'endpoint' in params && params.endpoint.startsWith(`${slug}/`)}
            apply={() => put.mutate({ params: { slug }, body: entry })}
          />
        )}
      </Stack>
    </form>
  )
}

interface FieldsProps {
  readonly draft: ProviderDraft
  readonly change: (part: Partial<ProviderDraft>) => void
}

/** The names of the service, its protocol and its address. */
function Service({ draft, change }: FieldsProps): ReactNode {
  const { t } = useTranslation()
  return (
    <>
      <TextInput label={t('providers.slug')} disabled value={draft.slug} />
      <TextInput
        label={t('keys.name')}
        value={draft.name}
        onChange={({ currentTarget }) => change({ name: currentTarget.value })}
      />
      <Autocomplete
        label={t('providers.adapter')}
        required
        data={adapters.map(([name]) => name)}
        value={draft.adapter}
        onChange={(adapter) => change({ adapter })}
      />
      <TextInput
        label={t('providers.address')}
        type="url"
        placeholder={adapters.find(([name]) => name === draft.adapter)?.[1].baseUrl ?? 'https://'}
        value={draft.address}
        onChange={({ currentTarget }) => change({ address: currentTarget.value })}
      />
    </>
  )
}

function Timeouts({ draft, change }: FieldsProps): ReactNode {
  const { t } = useTranslation()
  return (
    <div className={css.short} role="group" aria-label={t('providers.timeouts')}>
      {TIMEOUT_NAMES.map((name) => (
        <NumberField
          key={name}
          label={t(`providers.timeout_${name}`)}
          placeholder={String(PROVIDER_TIMEOUTS[name])}
          decimals={0}
          least={1}
          value={draft.timeouts[name]}
          onChange={(seconds) => change({ timeouts: { ...draft.timeouts, [name]: seconds } })}
        />
      ))}
    </div>
  )
}

interface ProviderKeysProps {
  readonly keys: readonly string[]
  readonly change: (keys: readonly string[]) => void
}

/**
 * The credentials of a provider. Several keys share the load where each has a limit. They can be written and never
 * read.
 */
function ProviderKeys({ keys, change }: ProviderKeysProps): ReactNode {
  const { t } = useTranslation()
  return (
    <Stack gap="xs">
      {keys.map((value, index) => (
        <PasswordInput
          // A field is identified only by its position: its content must not appear anywhere else.
          key={index}
          label={index === 0 ? t('providers.key') : t('providers.key_more', { number: index + 1 })}
          description={index === 0 ? t('providers.key_stays') : undefined}
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

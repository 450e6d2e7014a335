import { Autocomplete, Button, Group, PasswordInput, Stack, Switch, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { adapters } from 'virtual:adapters'
import { isAbout } from '../../../../src/catalog/catalog-warning.ts'
import type { CatalogDocument, ProviderEntry } from '../../../../src/api/admin/catalog-contract.ts'
import { ownValue } from '../../../../src/base/own-value.ts'
import { knownQuirks } from '../../../../src/catalog/known-quirks.ts'
import { PROVIDER_TIMEOUTS } from '../../../../src/tables/settings-table.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { Can, useCan } from '../../parts/Can.tsx'
import { CheckedForm } from '../../parts/CheckedForm.tsx'
import { DataList } from '../../parts/DataList.tsx'
import { confirm, Dialog } from '../../parts/Dialog.tsx'
import { bound } from '../../parts/Form.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { NumberField } from '../../parts/NumberField.tsx'
import { ButtonLink, Note } from '../../parts/cells.tsx'
import { PlusIcon } from '../../parts/icons.ts'
import { t } from '../../parts/words.ts'
import { MarkupField } from './MarkupField.tsx'
import { OperatorPage } from './OperatorPage.tsx'
import { SignInFields } from './SignInFields.tsx'
import { CATALOG_RENEWS, Compared, JsonField } from './catalog-edit.tsx'
import { ProviderMark } from './connect/ProviderMark.tsx'
import { parsedDialect, providerDraft, type ProviderDraft, providerEntry, TIMEOUT_NAMES } from './provider-draft.ts'

/** Providers and their credentials, which can be written but never read. */
// oxlint-disable-next-line eslint/max-lines-per-function -- the columns of a list
export function ProvidersPage() {
  const can = useCan()('PUT /admin/v1/providers/:slug')
  const catalog = useRead('GET /admin/v1/catalog', {})
  const [edited, setEdited] = useState<string | null>(null)
  const close = (): void => setEdited(null)
  const remove = useAct('DELETE /admin/v1/providers/:slug', { renews: CATALOG_RENEWS, said: t('providers.deleted') })
  const ask = (slug: string): void =>
    confirm({
      name: 'provider-delete',
      title: t('providers.ask_delete', { name: slug }),
      text: t('providers.ask_delete_text'),
      onConfirm: () => remove.mutate({ params: { slug } }),
    })
  return (
    <OperatorPage
      title={t('nav.providers')}
      lead={t('providers.lead')}
      actions={
        <Can call="PUT /admin/v1/providers/:slug">
          <ButtonLink to="/operator/providers/connect" leftSection={<PlusIcon size={17} />}>
            {t('providers.add')}
          </ButtonLink>
        </Can>
      }
    >
      <Loaded of={catalog} height={400}>
        {({ providers, models }) => (
          <DataList
            name="providers"
            label={t('nav.providers')}
            rows={Object.entries(providers).map(([slug, entry]) => ({
              slug,
              entry,
              name: entry.name ?? slug,
              uses: models.filter(({ endpoints }) => endpoints.some(({ provider }) => provider === slug)).length,
            }))}
            rowId={({ slug }) => slug}
            empty={{ picture: 'provider', title: t('providers.none') }}
            columns={[
              {
                id: 'name',
                title: t('keys.name'),
                value: 'name',
                cell: ({ slug, name }) => (
                  <Group gap="sm" wrap="nowrap">
                    <ProviderMark slug={slug} name={name} />
                    {name}
                  </Group>
                ),
                code: ({ slug }) => slug,
              },
              { id: 'adapter', title: t('providers.adapter'), value: ({ entry }) => entry.adapter },
              {
                id: 'address',
                title: t('providers.address'),
                as: 'mono',
                none: '–',
                value: ({ entry }) => entry.base_url ?? null,
              },
              {
                id: 'keys',
                title: t('providers.credentials'),
                as: 'mono',
                value: ({ entry }) => keysOf(entry).join(', ') || '–',
              },
              { id: 'models', title: t('nav.models'), as: 'count', value: ({ uses }) => uses },
              {
                id: 'actions',
                acts: ({ slug }) => [
                  can && { label: t('common.edit'), run: () => setEdited(slug) },
                  can && { label: t('common.delete'), harmful: true, run: () => ask(slug) },
                ],
              },
            ]}
          />
        )}
      </Loaded>
      <Dialog name="provider" of={edited} close={close} size="lg" title={t('providers.edit')}>
        {(slug) => (
          <Loaded of={catalog} height={480}>
            {(document) => <ProviderForm document={document} edited={slug} done={close} />}
          </Loaded>
        )}
      </Dialog>
    </OperatorPage>
  )
}

function keysOf({ api_key: keys }: ProviderEntry): readonly string[] {
  return keys === undefined ? [] : typeof keys === 'string' ? [keys] : keys
}

interface EditorProps {
  readonly document: CatalogDocument
  readonly edited: string
  readonly done: () => void
}

/** The entry of a provider. The form shows the changes before it applies them. */
function ProviderForm({ document, edited, done }: EditorProps) {
  const before = ownValue(document.providers, edited) ?? null
  const [draft, setDraft] = useState(() => providerDraft(edited, before))
  const look = useAct('PUT /admin/v1/catalog', { quiet: true })
  const put = useAct('PUT /admin/v1/providers/:slug', {
    quiet: true,
    said: t('common.saved'),
    renews: CATALOG_RENEWS,
    done,
  })
  const change = (next: ProviderDraft): void => {
    look.reset()
    put.reset()
    setDraft(next)
  }
  const of = bound(draft, change)
  const { slug } = draft
  const entry = providerEntry(draft, before)
  const compare = (event: FormEvent): void => {
    event.preventDefault()
    const providers = { ...document.providers, [slug]: entry }
    look.mutate({ query: { dry_run: '1' }, body: { ...document, providers } })
  }
  return (
    <CheckedForm onSubmit={compare}>
      <Stack>
        <Service draft={draft} change={change} />
        <SignInFields signIn={draft.signIn} adapter={draft.adapter} change={(signIn) => change({ ...draft, signIn })}>
          <ProviderKeys keys={draft.keys} change={(keys) => change({ ...draft, keys })} />
        </SignInFields>
        <MarkupField description={t('prices.markup_of_provider')} {...of.value('markup')} />
        <Timeouts draft={draft} change={change} />
        <Switch label={t('providers.stops')} {...of.flag('stops')} />
        <DialectField draft={draft} change={change} />
        <Note size="xs">{t('providers.more')}</Note>
        <Compared
          look={look}
          put={put}
          ready={parsedDialect(draft.dialect) !== null}
          apply={() => put.mutate({ params: { slug }, body: entry })}
          concerns={(warning) => isAbout(warning, { provider: slug })}
        />
      </Stack>
    </CheckedForm>
  )
}

/** How a service differs from its protocol, as in the catalogue file; below it, what is known of its host. */
function DialectField({ draft, change }: FieldsProps) {
  const known = Object.entries(knownQuirks({ adapter: draft.adapter, baseUrl: draft.address }, null))
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
    .join(', ')
  return (
    <Stack gap={4}>
      <JsonField
        label={t('providers.dialect')}
        description={t('providers.dialect_hint')}
        {...bound(draft, change).value('dialect')}
        minRows={2}
        maxRows={16}
        isWrong={parsedDialect(draft.dialect) === null}
      />
      {known !== '' && <div className="small">{t('providers.dialect_known', { known })}</div>}
    </Stack>
  )
}

interface FieldsProps {
  readonly draft: ProviderDraft
  readonly change: (draft: ProviderDraft) => void
}

/** The names of the service, its protocol and its address. */
function Service({ draft, change }: FieldsProps) {
  const of = bound(draft, change)
  const address = adapters.find(([name]) => name === draft.adapter)?.[1].baseUrl ?? 'https://'
  return (
    <>
      <TextInput label={t('providers.slug')} disabled value={draft.slug} />
      <TextInput label={t('keys.name')} {...of.text('name')} />
      <Autocomplete
        label={t('providers.adapter')}
        required
        data={adapters.map(([name]) => name)}
        {...of.value('adapter')}
      />
      <TextInput label={t('providers.address')} type="url" placeholder={address} {...of.text('address')} />
    </>
  )
}

function Timeouts({ draft, change }: FieldsProps) {
  const of = bound(draft.timeouts, (timeouts) => change({ ...draft, timeouts }))
  return (
    <div className="short" role="group" aria-label={t('providers.timeouts')}>
      {TIMEOUT_NAMES.map((name) => (
        <NumberField
          key={name}
          label={t(`providers.timeout_${name}`)}
          placeholder={String(PROVIDER_TIMEOUTS[name])}
          decimals={0}
          least={1}
          {...of.value(name)}
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
 * The credentials of a provider. Several keys share the load where each has a limit. They can be written but never
 * read.
 */
function ProviderKeys({ keys, change }: ProviderKeysProps) {
  return (
    <Stack gap="xs">
      {keys.map((value, index) => (
        <PasswordInput
          // A field is identified only by its position, since its content must not appear anywhere else.
          key={index}
          label={index === 0 ? t('providers.key') : t('providers.key_more', { number: index + 1 })}
          description={index === 0 ? t('providers.key_stays') : undefined}
          autoComplete="off"
          value={value}
          onChange={({ currentTarget }) => change(keys.with(index, currentTarget.value))}
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

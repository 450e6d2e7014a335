import { Button, Group } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { ProviderEntry } from '../../../../src/api/admin/catalog-contract.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { Can } from '../../parts/Can.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { confirm } from '../../parts/confirm.tsx'
import { PlusIcon } from '../../parts/icons.ts'
import { ButtonLink } from '../../parts/links.tsx'
import { Clip } from '../../parts/Clip.tsx'
import { DataList } from '../../parts/DataList.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import css from '../../style/layout.module.css'
import { OperatorPage } from './OperatorPage.tsx'
import { ProviderMark } from './connect/ProviderMark.tsx'
import { ProviderForm } from './ProviderForm.tsx'

interface NamedProvider {
  readonly slug: string
  readonly entry: ProviderEntry
}

/** Upstream companies and their credentials, which can be written and never read. */
export function ProvidersPage(): ReactNode {
  const { t } = useTranslation()
  const catalog = useRead('GET /admin/v1/catalog', {})
  const [edited, setEdited] = useState<string | null>(null)
  const close = (): void => setEdited(null)
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
          <ProviderList
            providers={Object.entries(providers).map(([slug, entry]) => ({ slug, entry }))}
            uses={(slug) =>
              models.filter(({ endpoints }) => endpoints.some(({ provider }) => provider === slug)).length
            }
            edit={setEdited}
          />
        )}
      </Loaded>
      <Dialog name="provider" opened={edited !== null} onClose={close} size="lg" title={t('providers.edit')}>
        {edited !== null && <ProviderForm slug={edited} done={close} />}
      </Dialog>
    </OperatorPage>
  )
}

interface ProviderListProps {
  readonly providers: readonly NamedProvider[]
  readonly uses: (slug: string) => number
  readonly edit: (slug: string) => void
}

function ProviderList({ providers, uses, edit }: ProviderListProps): ReactNode {
  const { t } = useTranslation()
  const remove = useAct('DELETE /admin/v1/providers/:slug', {
    renews: ['GET /admin/v1/catalog', 'GET /admin/v1/catalog/warnings', 'GET /admin/v1/models'],
    said: t('providers.deleted'),
  })
  const ask = (slug: string): void =>
    confirm({
      name: 'provider-delete',
      title: t('providers.ask_delete', { name: slug }),
      text: t('providers.ask_delete_text'),
      act: t('common.delete'),
      onConfirm: () => remove.mutate({ params: { slug } }),
    })
  return (
    <DataList
      name="providers"
      label={t('nav.providers')}
      rows={providers}
      rowId={({ slug }) => slug}
      empty={{ picture: 'provider', title: t('providers.none') }}
      columns={[
        {
          id: 'name',
          title: t('keys.name'),
          value: ({ slug, entry }) => entry.name ?? slug,
          cell: ({ slug, entry }) => (
            <Group gap="sm" wrap="nowrap">
              <ProviderMark slug={slug} name={entry.name ?? slug} />
              <div>
                {entry.name ?? slug}
                <div className={css.mono}>{slug}</div>
              </div>
            </Group>
          ),
        },
        {
          id: 'adapter',
          title: t('providers.adapter'),
          value: ({ entry }) => entry.adapter,
          cell: ({ entry }) => entry.adapter,
        },
        {
          id: 'address',
          title: t('providers.address'),
          value: ({ entry }) => entry.base_url ?? null,
          cell: ({ entry }) => (entry.base_url === undefined ? '–' : <Clip text={entry.base_url} mono />),
        },
        {
          id: 'keys',
          title: t('providers.credentials'),
          value: ({ entry }) => keysOf(entry).length,
          cell: ({ entry }) => <Clip text={keysOf(entry).join(', ') || '–'} mono />,
        },
        {
          id: 'models',
          title: t('nav.models'),
          end: true,
          value: ({ slug }) => uses(slug),
          cell: ({ slug }) => uses(slug),
        },
        {
          id: 'actions',
          title: '',
          end: true,
          cell: (provider) => (
            <Can call="PUT /admin/v1/providers/:slug">
              <Group gap={4} justify="flex-end">
                <Button size="compact-sm" variant="subtle" onClick={() => edit(provider.slug)}>
                  {t('common.edit')}
                </Button>
                <Button size="compact-sm" variant="subtle" color="red" onClick={() => ask(provider.slug)}>
                  {t('common.delete')}
                </Button>
              </Group>
            </Can>
          ),
        },
      ]}
    />
  )
}

function keysOf({ api_key: keys }: ProviderEntry): readonly string[] {
  return keys === undefined ? [] : typeof keys === 'string' ? [keys] : keys
}

import { Autocomplete, Button, Group, PasswordInput, Stack, Switch, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { adapters } from 'virtual:adapters'
import { isAbout } from '../../../../src/catalog/catalog-warning.ts'
import type { CatalogDocument, ProviderEntry } from '../../../../src/api/admin/catalog-contract.ts'
import { ownValue } from '../../../../src/base/own-value.ts'
import { PROVIDER_TIMEOUTS } from '../../../../src/tables/settings-table.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { Can, useCan } from '../../parts/Can.tsx'
import { CheckedForm } from '../../parts/CheckedForm.tsx'
import { DataList } from '../../parts/DataList.tsx'
import { Dialog, useUnsaved } from '../../parts/Dialog.tsx'
import { bound } from '../../parts/Form.tsx'
import { Failed, Loaded } from '../../parts/Loaded.tsx'
import { ButtonLink, Moment, Note, Press } from '../../parts/cells.tsx'
import { PlusIcon } from '../../parts/icons.ts'
import { t } from '../../parts/words.ts'
import { errorName } from '../../parts/failure-text.ts'
import { useSession } from '../../session.tsx'
import { lastDays, today } from '../../parts/zoned-day.ts'
import { Link } from '@tanstack/react-router'
import { DurationField } from '../../parts/DurationField.tsx'
import { MarkupField } from './MarkupField.tsx'
import { OperatorPage } from './OperatorPage.tsx'
import { SignInFields } from './SignInFields.tsx'
import { CATALOG_RENEWS, Compared } from './catalog-edit.tsx'
import { Marked } from './connect/ProviderMark.tsx'
import { TrialResult } from './connect/TrialResult.tsx'
import { healthWord } from './health-word.ts'
import { QuirkFields } from './QuirkFields.tsx'
import {
  parsedDialect,
  providerDraft,
  type ProviderDraft,
  providerEntry,
  storedWay,
  TIMEOUT_NAMES,
} from './provider-draft.ts'

const DAYS = 30

/** Providers with their state, and their credentials, which can be written but never read. */
// oxlint-disable-next-line eslint/max-lines-per-function -- the columns of a list
export function ProvidersPage() {
  const can = useCan()('PUT /admin/v1/providers/:slug')
  const catalog = useRead('GET /admin/v1/catalog', {})
  const stateOf = useProviderStates()
  const [edited, setEdited] = useState<string | null>(null)
  const close = (): void => setEdited(null)
  const remove = useAct('DELETE /admin/v1/providers/:slug', { renews: CATALOG_RENEWS, said: t('providers.deleted') })
  const ask = (slug: string): void =>
    remove.ask({
      name: 'provider-delete',
      title: t('providers.ask_delete', { name: slug }),
      text: t('providers.ask_delete_text'),
      input: { params: { slug } },
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
              ...stateOf(slug),
            }))}
            rowId={({ slug }) => slug}
            empty={{ picture: 'provider', title: t('providers.none') }}
            columns={[
              {
                id: 'name',
                title: t('keys.name'),
                value: 'name',
                cell: (row) => <Marked {...row} />,
                code: ({ slug }) => slug,
              },
              {
                id: 'health',
                title: t('keys.state'),
                word: ({ all, paused, errors }) => {
                  if (all === 0) return ['quiet', t('providers.unused')]
                  return paused === 0
                    ? healthWord('healthy', errors)
                    : ['warn', t('overview.paused_of', { paused, all })]
                },
              },
              { id: 'errors', title: t('health.error_rate'), as: 'share', none: '–', value: 'errors' },
              { id: 'spent', title: t('providers.spent'), as: 'money', none: '–', value: 'spent' },
              { id: 'failed', title: t('providers.failed'), cell: ({ slug }) => <LastError slug={slug} /> },
              {
                id: 'address',
                title: t('providers.address'),
                as: 'mono',
                none: '–',
                value: ({ entry }) => entry.base_url ?? null,
                code: ({ entry }) => entry.adapter,
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

interface ProviderState {
  /** Its endpoints, and those that are paused. */
  readonly all: number
  readonly paused: number
  /** The worst share of errors of its endpoints; null = it was not asked. */
  readonly errors: number | null
  /** Rubles in 30 days; null = nothing, or the reader may not know. */
  readonly spent: number | null
}

/** What is known of each provider from the reports that the reader may see. */
function useProviderStates(): (slug: string) => ProviderState {
  const can = useCan()
  const zone = useSession().service.service_timezone
  const health = useRead('GET /admin/v1/endpoints/health', {}, { enabled: can('GET /admin/v1/endpoints/health') })
  const margin = useRead(
    'GET /admin/v1/margin',
    { query: lastDays(DAYS, today(zone)) },
    { enabled: can('GET /admin/v1/margin') },
  )
  return (slug) => {
    const own = (health.data?.data ?? []).filter(({ provider }) => provider === slug)
    const rates = own.flatMap(({ error_rate_30m: rate }) => rate ?? [])
    return {
      all: own.length,
      paused: own.filter(({ state }) => state === 'cooling_down').length,
      errors: rates.length === 0 ? null : Math.max(...rates),
      spent: margin.data?.providers.find(({ id }) => id === slug)?.provider_cost ?? null,
    }
  }
}

/** The newest request that failed at the provider, as a link. */
function LastError({ slug }: { readonly slug: string }) {
  const enabled = useCan()('GET /admin/v1/generations')
  const query = { provider: slug, status: 'error', limit: 1 } as const
  const [newest] = useRead('GET /admin/v1/generations', { query }, { enabled }).data?.data ?? []
  if (newest === undefined) return '–'
  return (
    <>
      <Link to="/operator/requests" search={{ provider: slug, status: 'error', request: newest.generation_id }}>
        {newest.error_type === null ? t('status.error') : errorName(newest.error_type)}
      </Link>
      <div className="small">
        <Moment at={newest.timestamp} as="ago" />
      </div>
    </>
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
  useUnsaved(draft)
  const look = useAct('PUT /admin/v1/catalog', { quiet: true })
  // A new key is tried before it takes the place of one that works.
  const trial = useAct('POST /admin/v1/providers/try', { quiet: true })
  const put = useAct('PUT /admin/v1/providers/:slug', {
    quiet: true,
    said: t('common.saved'),
    renews: CATALOG_RENEWS,
    done,
  })
  const change = (next: ProviderDraft): void => {
    look.reset()
    put.reset()
    trial.reset()
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
        <SignInFields
          signIn={draft.signIn}
          adapter={draft.adapter}
          stored={storedWay(before)}
          change={(signIn) => change({ ...draft, signIn })}
        >
          <ProviderKeys
            keys={draft.keys}
            isStored={storedWay(before) === 'key'}
            change={(keys) => change({ ...draft, keys })}
          />
        </SignInFields>
        <div>
          <Press
            variant="default"
            loading={trial.isPending}
            disabled={parsedDialect(draft.dialect) === null}
            onClick={() => trial.mutate({ body: { slug, provider: entry } })}
            text={t('providers.test')}
          />
        </div>
        {trial.error !== null && <Failed failure={trial.error} />}
        {trial.data !== undefined && <TrialResult trial={trial.data} />}
        <MarkupField description={t('prices.markup_of_provider')} {...of.value('markup')} />
        <Timeouts draft={draft} change={change} />
        <Switch label={t('providers.stops')} {...of.flag('stops')} />
        <QuirkFields draft={draft} change={change} />
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
    <div className="fields" role="group" aria-label={t('providers.timeouts')}>
      {TIMEOUT_NAMES.map((name) => (
        <DurationField
          key={name}
          base="seconds"
          label={t(`providers.timeout_${name}`)}
          placeholder={String(PROVIDER_TIMEOUTS[name])}
          least={1}
          {...of.value(name)}
        />
      ))}
    </div>
  )
}

interface ProviderKeysProps {
  readonly keys: readonly string[]
  /** Whether there are keys already. */
  readonly isStored: boolean
  readonly change: (keys: readonly string[]) => void
}

/**
 * The credentials of a provider. Several keys share the load where each has a limit. They can be written but never
 * read.
 */
function ProviderKeys({ keys, isStored, change }: ProviderKeysProps) {
  return (
    <Stack gap="xs">
      {keys.map((value, index) => (
        <PasswordInput
          // A field is identified only by its position, since its content must not appear anywhere else.
          key={index}
          label={index === 0 ? t('providers.key') : t('providers.key_more', { number: index + 1 })}
          description={index === 0 ? t(isStored ? 'providers.key_stays' : 'providers.key_hint') : undefined}
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

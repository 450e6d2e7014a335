import { Button, Group, PasswordInput, Select, Stack, Text, TextInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { clsx } from 'clsx'
import { type ReactNode, useState } from 'react'
import type { CatalogDocument, ProviderTrial } from '../../../../../src/api/admin/catalog-contract.ts'
import { ownValue } from '../../../../../src/base/own-value.ts'
import { useAct } from '../../../api/hooks.ts'
import { ButtonLink, Press } from '../../../parts/cells.tsx'
import { CheckedForm } from '../../../parts/CheckedForm.tsx'
import { bound } from '../../../parts/Form.tsx'
import { useKept } from '../../../parts/kept.ts'
import { PlusIcon } from '../../../parts/icons.ts'
import { useIsHere } from '../../../parts/is-here.ts'
import { Failed } from '../../../parts/Loaded.tsx'
import { Section } from '../../../parts/Page.tsx'
import { format, t } from '../../../parts/words.ts'
import { CATALOG_RENEWS } from '../catalog-edit.tsx'
import { type Selling, sellingAt, WithSelling } from '../ModelForm.tsx'
import { OperatorPage } from '../OperatorPage.tsx'
import { storedWay } from '../provider-draft.ts'
import { SignInFields } from '../SignInFields.tsx'
import {
  type Choice,
  choicesOf,
  connectionBody,
  connectionDraft,
  type ConnectionDraft,
  isPriced,
  OWN,
  providerOf,
  type Service,
  SERVICES,
  slugOf,
} from './connect-draft.ts'
import css from './connect.module.css'
import { marginOf, OfferedModels, unrated } from './OfferedModels.tsx'
import { ProviderMark } from './ProviderMark.tsx'
import { TrialResult } from './TrialResult.tsx'

/** Protocols for a service with an address of the operator's; each other protocol has only its own service. */
const OWN_ADAPTERS = ['openai', 'anthropic', 'gemini', 'cohere', 'ollama'] as const
/** After any other outcome something must be corrected first. */
const SAVABLE: ReadonlySet<string> = new Set(['listed', 'no_list', 'not_found', 'limited', 'failed'])

/** Connects a provider on one page: choose it, enter its key, test it, choose its models, save. */
export function ConnectPage() {
  return (
    <OperatorPage
      title={t('connect.title')}
      lead={t('connect.lead')}
      actions={
        <ButtonLink to="/operator/providers" variant="default">
          {t('nav.providers')}
        </ButtonLink>
      }
    >
      <WithSelling>{(document, selling) => <Connect document={document} selling={selling} />}</WithSelling>
    </OperatorPage>
  )
}

interface ConnectProps {
  readonly document: CatalogDocument
  readonly selling: Selling
}

/** What was typed and found so far. */
interface Begun {
  readonly draft: ConnectionDraft
  readonly trial: ProviderTrial | null
  readonly choices: readonly Choice[]
}

function Connect({ document, selling }: ConnectProps) {
  const [begun, setBegun] = useKept<Begun | null>('connect', null)
  return (
    <>
      <ServicePicker
        chosen={begun?.draft.service.slug ?? null}
        connected={new Set(Object.keys(document.providers))}
        choose={(slug) => {
          const service = SERVICES.find((known) => known.slug === slug) ?? OWN
          const draft = connectionDraft(service, ownValue(document.providers, service.slug) ?? null)
          setBegun({ draft, trial: null, choices: [] })
        }}
      />
      {begun !== null && (
        <Connection
          key={begun.draft.service.slug}
          document={document}
          selling={selling}
          begun={begun}
          change={setBegun}
        />
      )}
    </>
  )
}

interface ServicePickerProps {
  readonly chosen: string | null
  /** Slugs of the providers that the catalogue has. */
  readonly connected: ReadonlySet<string>
  readonly choose: (slug: string) => void
}

/** Every service that Tollgate knows, and any other. */
function ServicePicker({ chosen, connected, choose }: ServicePickerProps) {
  const [isOpen, setOpen] = useState(chosen === null)
  const noteOf = ({ slug, isKnown }: Service): string =>
    connected.has(slug) ? t('connect.connected') : isKnown ? t('connect.with_prices') : t('connect.by_hand')
  return (
    <div className={css.services} role="group" aria-label={t('connect.pick')}>
      {[...SERVICES, OWN]
        .filter(({ slug }) => isOpen || slug === chosen)
        .map((service) => (
          <button
            key={service.slug}
            type="button"
            className={clsx(css.service, service === OWN && css.own)}
            aria-pressed={chosen === service.slug}
            onClick={() => {
              if (isOpen) choose(service.slug)
              setOpen(!isOpen)
            }}
          >
            {service === OWN ? (
              <span className={css.mark} aria-hidden>
                <PlusIcon size={18} />
              </span>
            ) : (
              <ProviderMark slug={service.slug} name={service.name} />
            )}
            <span className={css.names}>
              <span>{service === OWN ? t('connect.own') : service.name}</span>
              <span className="small">{service === OWN ? t('connect.own_note') : noteOf(service)}</span>
            </span>
          </button>
        ))}
      {!isOpen && (
        <Press variant="subtle" className={css.other ?? ''} onClick={() => setOpen(true)} text={t('connect.other')} />
      )}
    </div>
  )
}

interface ConnectionProps extends ConnectProps {
  readonly begun: Begun
  /** null = it is saved. */
  readonly change: (begun: Begun | null) => void
}

function Connection({ document, selling: ofService, begun, change }: ConnectionProps) {
  const { draft, trial, choices } = begun
  const navigate = useNavigate()
  const isHere = useIsHere()
  const before = ownValue(document.providers, draft.slug) ?? null
  // The typed rule applies instead of a stored one, which it will replace.
  const selling = sellingAt({ ...ofService, markups: new Map() }, draft.slug, draft.markup)
  const test = useAct('POST /admin/v1/providers/try', { quiet: true })
  const found = (answer: ProviderTrial): void => {
    const served = before === null ? null : servedBy(document, draft.slug)
    change({ draft, trial: answer, choices: choicesOf(answer.models, served, selling.rates) })
  }
  const save = useAct('POST /admin/v1/providers', {
    quiet: true,
    said: t('common.saved'),
    renews: CATALOG_RENEWS,
    done: () => {
      change(null)
      if (isHere()) void navigate({ to: '/operator/providers' })
    },
  })
  const isSavable = trial !== null && SAVABLE.has(trial.outcome)
  return (
    <>
      <ConnectionFields
        draft={draft}
        stored={storedWay(before)}
        busy={test.isPending}
        change={(next) => {
          test.reset()
          save.reset()
          change({ draft: next, trial: null, choices: [] })
        }}
        // It is not called for a test of what was changed meanwhile.
        test={() =>
          test.mutate({ body: { slug: draft.slug, provider: providerOf(draft, before) } }, { onSuccess: found })
        }
      >
        {test.error !== null && <Failed failure={test.error} />}
        {trial !== null && <TrialResult trial={trial} />}
      </ConnectionFields>
      {isSavable && choices.length > 0 && (
        <OfferedModels
          choices={choices}
          selling={selling}
          markup={draft.markup}
          setMarkup={(markup) => change({ ...begun, draft: { ...draft, markup } })}
          change={(next) => change({ ...begun, choices: next })}
        />
      )}
      {save.error !== null && <Failed failure={save.error} />}
      {isSavable && (
        <SaveBar
          name={draft.name.trim() === '' ? draft.slug : draft.name}
          choices={choices}
          selling={selling}
          busy={save.isPending}
          save={() => save.mutate({ body: connectionBody(draft, before, choices) })}
        />
      )}
    </>
  )
}

function servedBy({ models }: CatalogDocument, slug: string): ReadonlySet<string> {
  return new Set(
    models.filter(({ endpoints }) => endpoints.some(({ provider }) => provider === slug)).map(({ id }) => id),
  )
}

interface SaveBarProps {
  readonly name: string
  readonly choices: readonly Choice[]
  readonly selling: Selling
  readonly busy: boolean
  readonly save: () => void
}

/** Always visible: what will be saved, and the button that saves it. */
function SaveBar({ name, choices, selling, busy, save }: SaveBarProps) {
  const chosen = choices.filter((choice) => choice.chosen)
  const unpriced = chosen.filter((choice) => !isPriced(choice)).length
  const missing = unrated(choices, selling)
  // The catalogue takes prices without a rate only from Tollgate's own list.
  const typed = unrated(
    choices.filter(({ offered }) => !offered.bundled),
    selling,
  )
  return (
    <div className={css.save}>
      <div>
        <Text fw={600}>{name}</Text>
        <Text size="sm" c="dimmed" role="status">
          {unpriced > 0
            ? t('connect.needs_prices', { count: unpriced })
            : typed.length > 0
              ? t('connect.needs_rate', { currency: typed.join(', ') })
              : missing.length > 0
                ? t('connect.unsold', { count: chosen.length, currency: missing.join(', ') })
                : t('connect.summary', { count: chosen.length, margin: format.percent(marginOf(selling)) })}
        </Text>
      </div>
      <Group gap="xs">
        <Button size="md" disabled={unpriced + typed.length > 0} loading={busy} onClick={save}>
          {t('connect.save')}
        </Button>
      </Group>
    </div>
  )
}

interface ConnectionFieldsProps {
  readonly draft: ConnectionDraft
  /** The way whose secrets are stored already. */
  readonly stored: ReturnType<typeof storedWay>
  readonly busy: boolean
  readonly change: (draft: ConnectionDraft) => void
  readonly test: () => void
  /** The result of the test. */
  readonly children: ReactNode
}

/** The key and the address, and the button that tests them. */
function ConnectionFields({ draft, stored, busy, change, test, children }: ConnectionFieldsProps) {
  const isOwn = draft.service === OWN
  return (
    <Section boxed title={isOwn ? t('connect.own') : draft.service.name} lead={t('connect.key_lead')}>
      <CheckedForm
        onSubmit={(event) => {
          event.preventDefault()
          test()
        }}
      >
        <Stack gap="md">
          {isOwn && <OwnFields draft={draft} change={change} />}
          <TextInput
            label={t('providers.address')}
            description={t('connect.address_hint')}
            type="url"
            required
            placeholder="https://"
            {...bound(draft, change).text('address')}
          />
          <SignInFields
            signIn={draft.signIn}
            adapter={draft.adapter}
            stored={stored}
            change={(signIn) => change({ ...draft, signIn })}
          >
            <PasswordInput
              label={t('providers.key')}
              description={t(stored === 'key' ? 'providers.key_stays' : 'providers.key_hint')}
              autoComplete="off"
              {...bound(draft, change).text('key')}
            />
          </SignInFields>
          <div>
            <Press type="submit" loading={busy} text={t('connect.test')} />
          </div>
          {children}
        </Stack>
      </CheckedForm>
    </Section>
  )
}

function OwnFields({ draft, change }: Pick<ConnectionFieldsProps, 'draft' | 'change'>) {
  const of = bound(draft, change)
  return (
    <div className="fields">
      <TextInput
        label={t('keys.name')}
        required
        value={draft.name}
        onChange={({ currentTarget: { value } }) =>
          change({ ...draft, name: value, slug: draft.slug === slugOf(draft.name) ? slugOf(value) : draft.slug })
        }
      />
      <TextInput label={t('providers.slug')} description={t('providers.slug_hint')} required {...of.text('slug')} />
      <Select
        label={t('connect.protocol')}
        data={OWN_ADAPTERS.map((value) => ({ value, label: t(`connect.protocol_${value}`) }))}
        {...of.value('adapter')}
      />
    </div>
  )
}

import { Button, Group, Text } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { CatalogDocument } from '../../../../../src/api/admin/catalog-contract.ts'
import { ownValue } from '../../../../../src/base/own-value.ts'
import { useAct, useRead } from '../../../api/hooks.ts'
import { useIsHere } from '../../../parts/is-here.ts'
import { ButtonLink } from '../../../parts/links.tsx'
import { Failed, Loaded } from '../../../parts/Loaded.tsx'
import { useFormat } from '../../../parts/use-format.ts'
import { sellingAt, type Selling } from '../EndpointFields.tsx'
import { CATALOG_RENEWS, sellingOf } from '../ModelForm.tsx'
import { OperatorPage } from '../OperatorPage.tsx'
import {
  choicesOf,
  connectionBody,
  connectionDraft,
  isPriced,
  providerOf,
  type Choice,
  type ConnectionDraft,
} from './connect-draft.ts'
import { ConnectionFields } from './ConnectionFields.tsx'
import css from './connect.module.css'
import { marginOf, OfferedModels } from './OfferedModels.tsx'
import { ServicePicker } from './ServicePicker.tsx'
import { OWN, SERVICES } from './services.ts'
import { TrialResult } from './TrialResult.tsx'

/** After any other outcome something must be mended first. */
const SAVABLE: ReadonlySet<string> = new Set(['listed', 'no_list', 'not_found', 'limited', 'failed'])

/** A provider in one page: pick it, paste its key, test it, choose its models, save. */
export function ConnectPage(): ReactNode {
  const { t } = useTranslation()
  const catalog = useRead('GET /admin/v1/catalog', {})
  const settings = useRead('GET /admin/v1/settings', {})
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
      <Loaded of={catalog} height={480}>
        {(document) => (
          <Loaded of={settings} height={480}>
            {(values) => <Connect document={document} selling={sellingOf(values, document)} />}
          </Loaded>
        )}
      </Loaded>
    </OperatorPage>
  )
}

interface ConnectProps {
  readonly document: CatalogDocument
  readonly selling: Selling
}

function Connect({ document, selling }: ConnectProps): ReactNode {
  const [draft, setDraft] = useState<ConnectionDraft | null>(null)
  return (
    <>
      <ServicePicker
        chosen={draft?.service.slug ?? null}
        connected={new Set(Object.keys(document.providers))}
        choose={(slug) => {
          const service = SERVICES.find((known) => known.slug === slug) ?? OWN
          setDraft(connectionDraft(service, ownValue(document.providers, service.slug) ?? null))
        }}
      />
      {draft !== null && (
        <Connection key={draft.service.slug} document={document} selling={selling} draft={draft} change={setDraft} />
      )}
    </>
  )
}

interface ConnectionProps extends ConnectProps {
  readonly draft: ConnectionDraft
  readonly change: (draft: ConnectionDraft) => void
}

function Connection({ document, selling: ofService, draft, change }: ConnectionProps): ReactNode {
  const { t } = useTranslation()
  const navigate = useNavigate()
  const isHere = useIsHere()
  const before = ownValue(document.providers, draft.slug) ?? null
  // The typed rule comes before a stored one, which it replaces.
  const selling = sellingAt({ ...ofService, markups: new Map() }, draft.slug, draft.markup)
  const [choices, setChoices] = useState<readonly Choice[]>([])
  const trial = useAct('POST /admin/v1/providers/try', {
    quiet: true,
    done: ({ models }) => setChoices(choicesOf(models, before === null ? null : servedBy(document, draft.slug))),
  })
  const save = useAct('POST /admin/v1/providers', {
    quiet: true,
    said: t('common.saved'),
    renews: CATALOG_RENEWS,
    done: () => {
      if (isHere()) void navigate({ to: '/operator/providers' })
    },
  })
  const isSavable = trial.data !== undefined && SAVABLE.has(trial.data.outcome)
  return (
    <>
      <ConnectionFields
        draft={draft}
        hasKey={before?.api_key !== undefined}
        busy={trial.isPending}
        change={(next) => {
          trial.reset()
          save.reset()
          setChoices([])
          change(next)
        }}
        test={() => trial.mutate({ body: { slug: draft.slug, provider: providerOf(draft, before) } })}
      >
        {trial.error !== null && <Failed failure={trial.error} />}
        {trial.data !== undefined && <TrialResult trial={trial.data} />}
      </ConnectionFields>
      {isSavable && choices.length > 0 && (
        <OfferedModels
          choices={choices}
          selling={selling}
          markup={draft.markup}
          setMarkup={(markup) => change({ ...draft, markup })}
          change={setChoices}
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

/** Always in sight: what will be saved, and the one button that does it. */
function SaveBar({ name, choices, selling, busy, save }: SaveBarProps): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const chosen = choices.filter((choice) => choice.chosen)
  const unpriced = chosen.filter((choice) => !isPriced(choice)).length
  return (
    <div className={css.save}>
      <div>
        <Text fw={600}>{name}</Text>
        <Text size="sm" c="dimmed" role="status">
          {unpriced > 0
            ? t('connect.needs_prices', { count: unpriced })
            : t('connect.summary', { count: chosen.length, margin: format.percent(marginOf(selling)) })}
        </Text>
      </div>
      <Group gap="xs">
        <Button size="md" disabled={unpriced > 0} loading={busy} onClick={save}>
          {t('connect.save')}
        </Button>
      </Group>
    </div>
  )
}

import { Button, Checkbox, Text } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { ModelRow } from '../../../../src/cabinet/model-contract.ts'
import { ModelLink } from '../../parts/links.tsx'
import { List } from '../../parts/List.tsx'
import { StatusBadge } from '../../parts/StatusBadge.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'
import { bestOf } from './find-models.ts'
import { PriceLines } from './PriceLines.tsx'

const SHOWN_FIRST = 60

export interface ModelListProps {
  readonly models: readonly ModelRow[]
  /** The number of models without filters. */
  readonly all: number
  readonly chosen: readonly string[]
  readonly toggle: (id: string) => void
}

export function ModelList({ models, all, chosen, toggle }: ModelListProps): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const [most, setMost] = useState(SHOWN_FIRST)
  return (
    <>
      <Text size="sm" c="dimmed" role="status">
        {t('models.found', { shown: format.number(models.length), all: format.number(all) })}
      </Text>
      <List
        label={t('nav.models')}
        rows={models.slice(0, most)}
        rowId={({ id }) => id}
        empty={{ title: t('models.none'), text: t('models.none_text') }}
        columns={[
          {
            id: 'model',
            title: t('usage.model'),
            cell: (model) => <ModelName model={model} />,
          },
          { id: 'type', title: t('models.type'), cell: ({ type }) => t(`type.${type}`) },
          {
            id: 'context',
            title: t('models.context'),
            end: true,
            cell: (model) => (model.context_length === null ? '–' : format.compact(model.context_length)),
          },
          {
            id: 'prices',
            title: t('models.prices'),
            end: true,
            cell: ({ prices }) => <PriceLines prices={prices} most={2} />,
          },
          {
            id: 'providers',
            title: t('models.providers'),
            cell: ({ endpoints }) => endpoints.map((endpoint) => endpoint.provider_name).join(', '),
          },
          {
            id: 'uptime',
            title: t('models.uptime'),
            end: true,
            cell: (model) => {
              const uptime = bestOf(model, (endpoint) => endpoint.uptime_1d, Math.max)
              return uptime === null ? '–' : format.percent(uptime / 100)
            },
          },
          {
            id: t('models.compare_short'),
            title: t('models.compare_short'),
            cell: ({ id, name }) => (
              <Checkbox
                checked={chosen.includes(id)}
                onChange={() => toggle(id)}
                aria-label={t('models.compare_this', { name })}
              />
            ),
          },
        ]}
      />
      {models.length > most && (
        <div>
          <Button variant="default" onClick={() => setMost(most + SHOWN_FIRST)}>
            {t('log.more')}
          </Button>
        </div>
      )}
    </>
  )
}

function ModelName({ model: { id, name, allowed } }: { readonly model: ModelRow }): ReactNode {
  const { t } = useTranslation()
  return (
    <div>
      <ModelLink id={id}>{name}</ModelLink>
      {!allowed && (
        <>
          {' '}
          <StatusBadge tone="quiet">{t('models.not_allowed')}</StatusBadge>
        </>
      )}
      <Text size="xs" c="dimmed" className={css.mono ?? ''}>
        {id}
      </Text>
    </div>
  )
}

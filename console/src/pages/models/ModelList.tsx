import { Checkbox, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { ModelRow } from '../../../../src/api/cabinet/model-contract.ts'
import { Clip } from '../../parts/Clip.tsx'
import { DataList } from '../../parts/DataList.tsx'
import { ModelLink } from '../../parts/links.tsx'
import { Moment } from '../../parts/Moment.tsx'
import { StatusBadge } from '../../parts/StatusBadge.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'
import { bestOf, bestSpeed, mainPrice } from './find-models.ts'
import { PriceLines } from './PriceLines.tsx'

const HIDDEN = ['speed', 'created']

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
  return (
    <>
      <Text size="sm" c="dimmed" role="status">
        {t('models.found', { shown: format.number(models.length), all: format.number(all) })}
      </Text>
      <DataList
        name="models"
        label={t('nav.models')}
        rows={models}
        rowId={({ id }) => id}
        empty={{ picture: 'model', title: t('models.none'), text: t('models.none_text') }}
        hiddenAtFirst={HIDDEN}
        columns={[
          {
            id: 'model',
            title: t('usage.model'),
            value: ({ id }) => id,
            cell: (model) => <ModelName model={model} />,
          },
          {
            id: 'type',
            title: t('models.type'),
            value: ({ type }) => t(`type.${type}`),
            cell: ({ type }) => t(`type.${type}`),
          },
          {
            id: 'context',
            title: t('models.context'),
            end: true,
            value: (model) => model.context_length,
            cell: (model) => (model.context_length === null ? '–' : format.compact(model.context_length)),
          },
          {
            id: 'prices',
            title: t('models.prices'),
            end: true,
            value: mainPrice,
            cell: ({ prices }) => <PriceLines prices={prices} most={2} />,
          },
          {
            id: 'providers',
            title: t('models.providers'),
            value: (model) => providersOf(model),
            cell: (model) => <Clip text={providersOf(model)} />,
          },
          {
            id: 'uptime',
            title: t('models.uptime'),
            end: true,
            value: uptimeOf,
            cell: (model) => {
              const uptime = uptimeOf(model)
              return uptime === null ? '–' : format.percent(uptime / 100)
            },
          },
          {
            id: 'speed',
            title: t('models.throughput'),
            end: true,
            value: bestSpeed,
            cell: (model) => {
              const speed = bestSpeed(model)
              return speed === null ? '–' : t('request.per_second', { tokens: format.number(speed) })
            },
          },
          {
            id: 'created',
            title: t('models.created'),
            end: true,
            value: ({ created }) => created,
            cell: ({ created }) => <Moment at={created} as="date" />,
          },
          {
            id: 'compare',
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
    </>
  )
}

function providersOf({ endpoints }: ModelRow): string {
  return endpoints.map((endpoint) => endpoint.provider_name).join(', ')
}

function uptimeOf(model: ModelRow): number | null {
  return bestOf(model, (endpoint) => endpoint.uptime_1d, Math.max)
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

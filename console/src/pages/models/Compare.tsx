import { ScrollArea, Table } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { ModelRow } from '../../../../src/api/cabinet/model-contract.ts'
import { Dialog } from '../../parts/Dialog.tsx'
import { useFormat } from '../../parts/use-format.ts'
import { bestOf } from './find-models.ts'
import { PriceLines } from './PriceLines.tsx'
import { modalityTexts } from './modality-text.ts'

/** A few models side by side. */
export function Compare({
  models,
  opened,
  close,
}: {
  readonly models: readonly ModelRow[]
  readonly opened: boolean
  readonly close: () => void
}): ReactNode {
  const { t } = useTranslation()
  const facts = useFacts()
  return (
    <Dialog name="comparison" opened={opened} onClose={close} title={t('models.compare_title')} size="auto">
      <ScrollArea viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': t('models.compare_title') }}>
        <Table miw={180 + models.length * 190} withRowBorders>
          <Table.Thead>
            <Table.Tr>
              <Table.Td />
              {models.map(({ id, name }) => (
                <Table.Th key={id} scope="col">
                  {name}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {facts.map(([name, value]) => (
              <Table.Tr key={name}>
                <Table.Th scope="row">{name}</Table.Th>
                {models.map((model) => (
                  <Table.Td key={model.id}>{value(model)}</Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </ScrollArea>
    </Dialog>
  )
}

/** The facts that are compared, each with its value for one model. */
function useFacts(): readonly (readonly [name: string, value: (model: ModelRow) => ReactNode])[] {
  const { t } = useTranslation()
  const format = useFormat()
  const number = (value: number): string => format.number(value)
  return [
    [t('models.type'), ({ type }) => t(`type.${type}`)],
    [t('models.context'), (model) => shown(model.context_length, number)],
    [t('models.most_output'), (model) => shown(model.max_completion_tokens, number)],
    [t('models.takes'), (model) => modalityTexts(model.input_modalities)],
    [t('models.gives'), (model) => modalityTexts(model.output_modalities)],
    [t('models.prices'), ({ prices }) => <PriceLines prices={prices} />],
    [t('models.providers'), ({ endpoints }) => endpoints.map((endpoint) => endpoint.provider_name).join(', ')],
    [
      t('models.uptime'),
      (model) =>
        shown(
          bestOf(model, (endpoint) => endpoint.uptime_1d, Math.max),
          (value) => format.percent(value / 100),
        ),
    ],
    [
      t('models.ttft'),
      (model) =>
        shown(
          bestOf(model, ({ ttft_ms: ttft }) => ttft?.p50 ?? null, Math.min),
          (value) => format.duration(value),
        ),
    ],
    [
      t('models.throughput'),
      (model) =>
        shown(
          bestOf(model, ({ throughput }) => throughput?.p50 ?? null, Math.max),
          (value) => t('request.per_second', { tokens: format.number(value) }),
        ),
    ],
    [t('models.created'), ({ created }) => format.date(created)],
  ]
}

function shown(value: number | null, text: (value: number) => string): string {
  return value === null ? '–' : text(value)
}

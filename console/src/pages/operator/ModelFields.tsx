import { Button, Group, Select, Stack, Switch, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { MODEL_TYPES } from '../../../../src/tables/model-types.ts'
import { NumberField } from '../../parts/NumberField.tsx'
import { PlusIcon } from '../../parts/icons.ts'
import css from '../../style/layout.module.css'
import { MarkupField } from './MarkupField.tsx'
import { EndpointFields, sellingAt, type Selling } from './EndpointFields.tsx'
import { firstLines, newEndpoint, type EndpointDraft, type ModelDraft } from './model-draft.ts'

export interface ModelFieldsProps {
  readonly draft: ModelDraft
  readonly isNew: boolean
  readonly providers: readonly string[]
  readonly selling: Selling
  readonly change: (draft: ModelDraft) => void
}

/** The fields of a model, then a card for each of its endpoints. */
export function ModelFields({ draft, isNew, providers, selling, change }: ModelFieldsProps): ReactNode {
  const { t } = useTranslation()
  const { endpoints } = draft
  const setEndpoints = (changed: readonly EndpointDraft[]): void => change({ ...draft, endpoints: changed })
  return (
    <Stack>
      <Description draft={draft} isNew={isNew} change={change} />
      <Group>
        <Switch
          label={t('prices.active')}
          checked={draft.active}
          onChange={({ currentTarget }) => change({ ...draft, active: currentTarget.checked })}
        />
        <Switch
          label={t('prices.listed')}
          checked={!draft.hidden}
          onChange={({ currentTarget }) => change({ ...draft, hidden: !currentTarget.checked })}
        />
      </Group>
      {endpoints.map((endpoint, index) => (
        <EndpointFields
          // A provider may appear twice and may be changed: only its position identifies it.
          key={index}
          endpoint={endpoint}
          providers={providers}
          selling={sellingAt(selling, endpoint.provider, draft.markup)}
          change={(changed) => setEndpoints(endpoints.with(index, changed))}
          remove={endpoints.length > 1 ? () => setEndpoints(endpoints.toSpliced(index, 1)) : null}
        />
      ))}
      <div>
        <Button
          size="xs"
          variant="default"
          leftSection={<PlusIcon size={15} />}
          onClick={() => setEndpoints([...endpoints, newEndpoint(providers[0] ?? '', draft.type)])}
        >
          {t('prices.add_endpoint')}
        </Button>
      </div>
    </Stack>
  )
}

/** What clients are told of the model. Its type decides which prices an endpoint needs. */
function Description({ draft, isNew, change }: Pick<ModelFieldsProps, 'draft' | 'isNew' | 'change'>): ReactNode {
  const { t } = useTranslation()
  const text = (field: 'id' | 'name') => ({
    value: draft[field],
    onChange: ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) =>
      change({ ...draft, [field]: currentTarget.value }),
  })
  const whole = (field: 'context' | 'output') => ({
    value: draft[field],
    onChange: (value: string) => change({ ...draft, [field]: value }),
  })
  const setType = (value: string | null): void => {
    const type = MODEL_TYPES.find((known) => known === value)
    if (type === undefined) return
    const endpoints = draft.endpoints.map((endpoint) => ({ ...endpoint, lines: firstLines(type) }))
    change({ ...draft, type, endpoints })
  }
  return (
    <div className={css.fields}>
      <TextInput label={t('prices.id')} placeholder="vendor/name" required disabled={!isNew} {...text('id')} />
      <TextInput label={t('keys.name')} {...text('name')} />
      <Select
        label={t('models.type')}
        allowDeselect={false}
        disabled={!isNew}
        data={MODEL_TYPES.map((value) => ({ value, label: t(`type.${value}`) }))}
        value={draft.type}
        onChange={setType}
      />
      <NumberField label={t('prices.context')} decimals={0} least={1} {...whole('context')} />
      <NumberField label={t('prices.output')} decimals={0} least={1} {...whole('output')} />
      <MarkupField value={draft.markup} onChange={(markup) => change({ ...draft, markup })} />
    </div>
  )
}

import { Button, Group, Select, Stack, Switch, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { NumberField } from '../../parts/NumberField.tsx'
import { PlusIcon } from '../../parts/icons.ts'
import css from '../../style/layout.module.css'
import { EndpointFields, type Selling } from './EndpointFields.tsx'
import { firstLines, MODEL_TYPES, newEndpoint, type EndpointDraft, type ModelDraft } from './model-draft.ts'

export interface ModelFieldsProps {
  readonly draft: ModelDraft
  readonly isNew: boolean
  readonly providers: readonly string[]
  readonly selling: Selling
  readonly change: (draft: ModelDraft) => void
}

/** A model's own fields, then a card for each of its providers. */
export function ModelFields({ draft, isNew, providers, selling, change }: ModelFieldsProps): ReactNode {
  const { t } = useTranslation()
  const text = (field: 'id' | 'name' | 'context' | 'output') => ({
    value: draft[field],
    onChange: ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) =>
      change({ ...draft, [field]: currentTarget.value }),
  })
  const whole = (field: 'context' | 'output') => ({
    value: draft[field],
    onChange: (value: string) => change({ ...draft, [field]: value }),
  })
  const setEndpoint = (index: number, endpoint: EndpointDraft): void =>
    change({ ...draft, endpoints: draft.endpoints.with(index, endpoint) })
  const setType = (value: string | null): void => {
    const type = MODEL_TYPES.find((known) => known === value)
    if (type !== undefined)
      change({
        ...draft,
        type,
        endpoints: draft.endpoints.map((endpoint) => ({ ...endpoint, lines: firstLines(type) })),
      })
  }
  return (
    <Stack>
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
      </div>
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
      {draft.endpoints.map((endpoint, index) => (
        <EndpointFields
          // Providers may stand twice, and are changed: their place is what they are.
          key={index}
          endpoint={endpoint}
          providers={providers}
          selling={selling}
          change={(changed) => setEndpoint(index, changed)}
          remove={
            draft.endpoints.length > 1
              ? () => change({ ...draft, endpoints: draft.endpoints.toSpliced(index, 1) })
              : null
          }
        />
      ))}
      <div>
        <Button
          size="xs"
          variant="default"
          leftSection={<PlusIcon size={15} />}
          onClick={() =>
            change({ ...draft, endpoints: [...draft.endpoints, newEndpoint(providers[0] ?? '', draft.type)] })
          }
        >
          {t('prices.add_endpoint')}
        </Button>
      </div>
    </Stack>
  )
}

import { Button, Group, Stack, Tabs } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { CatalogDocument, ModelEntry, Settings } from '../../../../src/api/admin/catalog-contract.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { confirm } from '../../parts/confirm.tsx'
import { Failed, Loaded } from '../../parts/Loaded.tsx'
import { Difference } from './Difference.tsx'
import type { Selling } from './EndpointFields.tsx'
import { draftOf, entryOf, isComplete, newModel } from './model-draft.ts'
import { ModelFields } from './ModelFields.tsx'
import { ModelText, parsedModel } from './ModelText.tsx'

/** Reads that a change of the catalogue makes old. */
export const CATALOG_RENEWS = [
  'GET /admin/v1/catalog',
  'GET /admin/v1/catalog/warnings',
  'GET /admin/v1/models',
  'GET /cabinet/v1/models',
] as const

/**
 * A model with its endpoints and prices, as fields or as the text of the catalogue file. The form shows the changes
 * before it applies them.
 */
export function ModelForm({ id, done }: { readonly id: string | null; readonly done: () => void }): ReactNode {
  const catalog = useRead('GET /admin/v1/catalog', {})
  const settings = useRead('GET /admin/v1/settings', {})
  return (
    <Loaded of={catalog} height={480}>
      {(document) => (
        <Loaded of={settings} height={480}>
          {(values) => (
            <Editor
              document={document}
              first={document.models.find((model) => model.id === id) ?? null}
              selling={sellingOf(values, document)}
              done={done}
            />
          )}
        </Loaded>
      )}
    </Loaded>
  )
}

interface EditorProps {
  readonly document: CatalogDocument
  /** The model as it is in the catalogue; null = a new model. */
  readonly first: ModelEntry | null
  readonly selling: Selling
  readonly done: () => void
}

function Editor({ document, first, selling, done }: EditorProps): ReactNode {
  const { t } = useTranslation()
  const providers = Object.keys(document.providers)
  const [draft, setDraft] = useState(() => (first === null ? newModel(providers[0] ?? '') : draftOf(first)))
  /** The text that the operator edits; null = the operator edits the fields. */
  const [text, setText] = useState<string | null>(null)
  const look = useAct('PUT /admin/v1/catalog', { quiet: true })
  const put = useAct('PUT /admin/v1/models/*id', { quiet: true, said: t('common.saved'), renews: CATALOG_RENEWS, done })
  const entry = text === null ? (isComplete(draft) ? entryOf(draft) : null) : parsedModel(text)
  const turn = (tab: string | null): void => {
    if (tab === 'text') return setText(JSON.stringify(entryOf(draft), null, 2))
    if (entry !== null) setDraft(draftOf(entry))
    setText(null)
  }
  const changed =
    <T,>(set: (value: T) => void) =>
    (value: T): void => {
      look.reset()
      put.reset()
      set(value)
    }
  const compare = (model: ModelEntry): void =>
    look.mutate({ query: { dry_run: '1' }, body: withModel(document, model) })
  const failure = look.error ?? put.error
  return (
    <Stack>
      <Tabs value={text === null ? 'fields' : 'text'} onChange={turn} keepMounted={false}>
        <Tabs.List>
          <Tabs.Tab value="fields" disabled={text !== null && entry === null}>
            {t('prices.fields')}
          </Tabs.Tab>
          <Tabs.Tab value="text">{t('prices.advanced')}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="fields" pt="md">
          <ModelFields
            draft={draft}
            isNew={first === null}
            providers={providers}
            selling={selling}
            change={changed(setDraft)}
          />
        </Tabs.Panel>
        <Tabs.Panel value="text" pt="md">
          <ModelText text={text ?? ''} change={changed(setText)} />
        </Tabs.Panel>
      </Tabs>
      {failure !== null && <Failed failure={failure} />}
      <Group justify="space-between">
        {first === null ? <span /> : <DeleteModel id={first.id} done={done} />}
        <Button
          disabled={entry === null}
          loading={look.isPending}
          variant={look.data === undefined ? 'filled' : 'default'}
          onClick={() => entry !== null && compare(entry)}
        >
          {t('catalog.compare')}
        </Button>
      </Group>
      {look.data !== undefined && entry !== null && (
        <Difference
          change={look.data}
          busy={put.isPending}
          concerns={({ params }) => 'model' in params && params.model === entry.id}
          apply={() => put.mutate({ params: { id: entry.id }, body: entry })}
        />
      )}
    </Stack>
  )
}

function withModel(document: CatalogDocument, model: ModelEntry): CatalogDocument {
  return { ...document, models: [...document.models.filter(({ id }) => id !== model.id), model] }
}

function DeleteModel({ id, done }: { readonly id: string; readonly done: () => void }): ReactNode {
  const { t } = useTranslation()
  const remove = useAct('DELETE /admin/v1/models/*id', { renews: CATALOG_RENEWS, said: t('prices.deleted'), done })
  const ask = (): void =>
    confirm({
      name: 'model-delete',
      title: t('providers.ask_delete', { name: id }),
      text: t('prices.ask_delete_text'),
      act: t('common.delete'),
      onConfirm: () => remove.mutate({ params: { id } }),
    })
  return (
    <Button variant="subtle" color="red" size="xs" onClick={ask}>
      {t('common.delete')}
    </Button>
  )
}

export function sellingOf({ rates, markup }: Settings, { providers }: CatalogDocument): Selling {
  return {
    rates: new Map([
      ['RUB', 1],
      ...Object.entries(rates).flatMap(([currency, rate]): [string, number][] =>
        currency === 'source' ? [] : [[currency, Number(rate)]],
      ),
    ]),
    markup,
    markups: new Map(
      Object.entries(providers).flatMap(([slug, entry]): [string, number][] =>
        entry.markup === undefined ? [] : [[slug, Number(entry.markup)]],
      ),
    ),
  }
}

import { Button, Stack, Tabs, Text } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import type { CatalogDocument, ModelEntry, Settings } from '../../../../src/api/admin/catalog-contract.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { confirm } from '../../parts/Dialog.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { useWords } from '../../parts/words.ts'
import { CATALOG_RENEWS, Compared, JsonField, parsedObject } from './catalog-edit.tsx'
import { draftOf, entryOf, isComplete, newModel } from './model-draft.ts'
import { ModelFields, type Selling } from './ModelFields.tsx'

/**
 * A model with its endpoints and prices, as fields or as the text of the catalogue file. The form shows the changes
 * before it applies them.
 */
export function ModelForm({ id, done }: { readonly id: string | null; readonly done: () => void }): ReactNode {
  return (
    <WithSelling>
      {(document, selling) => (
        <Editor
          document={document}
          first={document.models.find((model) => model.id === id) ?? null}
          selling={selling}
          done={done}
        />
      )}
    </WithSelling>
  )
}

/** The catalogue, and what its prices are multiplied with. */
export function WithSelling({
  children,
}: {
  readonly children: (document: CatalogDocument, selling: Selling) => ReactNode
}): ReactNode {
  const catalog = useRead('GET /admin/v1/catalog', {})
  const settings = useRead('GET /admin/v1/settings', {})
  return (
    <Loaded of={catalog} height={480}>
      {(document) => (
        <Loaded of={settings} height={480}>
          {(values) => children(document, sellingOf(values, document))}
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
  const { t } = useWords()
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
  const compare = (): void => {
    if (entry === null) return
    const others = document.models.filter(({ id }) => id !== entry.id)
    look.mutate({ query: { dry_run: '1' }, body: { ...document, models: [...others, entry] } })
  }
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
          <Text size="sm" c="dimmed" mb="xs">
            {t('prices.form_lead')}
          </Text>
          <JsonField
            label={t('prices.entry')}
            value={text ?? ''}
            onChange={changed(setText)}
            minRows={12}
            formatOnBlur
            isWrong={entry === null}
          />
        </Tabs.Panel>
      </Tabs>
      <Compared
        look={look}
        put={put}
        ready={entry !== null}
        compare={compare}
        beside={first !== null && <DeleteModel id={first.id} done={done} />}
        apply={() => entry !== null && put.mutate({ params: { id: entry.id }, body: entry })}
        concerns={({ params }) => 'model' in params && params.model === entry?.id}
      />
    </Stack>
  )
}

function DeleteModel({ id, done }: { readonly id: string; readonly done: () => void }): ReactNode {
  const { t } = useWords()
  const remove = useAct('DELETE /admin/v1/models/*id', { renews: CATALOG_RENEWS, said: t('prices.deleted'), done })
  const ask = (): void =>
    confirm({
      name: 'model-delete',
      title: t('providers.ask_delete', { name: id }),
      text: t('prices.ask_delete_text'),
      onConfirm: () => remove.mutate({ params: { id } }),
    })
  return (
    <Button variant="subtle" color="red" size="xs" onClick={ask}>
      {t('common.delete')}
    </Button>
  )
}

function sellingOf({ rates, markup }: Settings, { providers }: CatalogDocument): Selling {
  const ofCurrency = Object.entries(rates).filter(([currency]) => currency !== 'source')
  const ofProvider = Object.entries(providers).filter(([, entry]) => entry.markup !== undefined)
  return {
    rates: new Map([['RUB', 1], ...ofCurrency.map(([currency, rate]) => [currency, Number(rate)] as const)]),
    markup,
    markups: new Map(ofProvider.map(([slug, entry]) => [slug, Number(entry.markup)])),
  }
}

function parsedModel(text: string): ModelEntry | null {
  const value = parsedObject(text)
  const isModel =
    value !== null &&
    'id' in value &&
    typeof value.id === 'string' &&
    'endpoints' in value &&
    Array.isArray(value.endpoints) &&
    value.endpoints.every((one) => typeof Object(Object(one).price) === 'object' && Object(one).price instanceof Object)
  // The server checks the rest, field by field.
  return isModel ? (value as ModelEntry) : null
}

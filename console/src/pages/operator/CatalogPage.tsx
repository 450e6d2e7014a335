import { Button, FileButton, Group, JsonInput, Progress } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { CatalogDocument } from '../../../../src/api/admin/catalog-contract.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { DownloadIcon } from '../../parts/icons.ts'
import { Failed, Loaded } from '../../parts/Loaded.tsx'
import { saveFile } from '../../parts/save-file.ts'
import { Section } from '../../parts/Section.tsx'
import { CatalogWarnings, useCatalogWarnings } from './CatalogWarnings.tsx'
import { Difference } from './Difference.tsx'
import { OperatorPage } from './OperatorPage.tsx'

const RENEWS = [
  'GET /admin/v1/catalog',
  'GET /admin/v1/catalog/warnings',
  'GET /admin/v1/models',
  'GET /admin/v1/settings',
  'GET /cabinet/v1/models',
] as const

/** The whole catalogue as one document. The page shows the changes before it applies them. */
export function CatalogPage(): ReactNode {
  const { t } = useTranslation()
  const catalog = useRead('GET /admin/v1/catalog', {})
  const warnings = useCatalogWarnings()
  return (
    <OperatorPage title={t('nav.catalog_document')} lead={t('catalog.lead')}>
      <CatalogWarnings warnings={warnings} />
      <BundledUpdate />
      <Loaded of={catalog} height={520}>
        {(document) => (
          <Editor
            key={catalog.dataUpdatedAt}
            document={document}
            known={new Set(warnings.map(({ message }) => message))}
          />
        )}
      </Loaded>
    </OperatorPage>
  )
}

function BundledUpdate(): ReactNode {
  const { t } = useTranslation()
  const look = useAct('POST /admin/v1/catalog/update', { quiet: true })
  const apply = useAct('POST /admin/v1/catalog/update', {
    quiet: true,
    renews: RENEWS,
    said: t('catalog.applied'),
    done: () => look.reset(),
  })
  const failure = look.error ?? apply.error
  return (
    <Section
      title={t('catalog.bundled')}
      lead={t('catalog.bundled_lead')}
      actions={
        <Button
          variant="default"
          loading={look.isPending}
          onClick={() => look.mutate({ query: { dry_run: '1' }, body: {} })}
        >
          {t('catalog.compare')}
        </Button>
      }
    >
      {failure !== null && <Failed failure={failure} />}
      {look.data !== undefined && (
        <Difference
          change={look.data}
          apply={() => apply.mutate({ body: {} })}
          busy={apply.isPending}
          concerns={() => true}
        />
      )}
    </Section>
  )
}

interface EditorProps {
  readonly document: CatalogDocument
  /** Messages of warnings that the page shows already. */
  readonly known: ReadonlySet<string>
}

function Editor({ document, known }: EditorProps): ReactNode {
  const { t } = useTranslation()
  const [text, setText] = useState(() => JSON.stringify(document, null, 2))
  const look = useAct('PUT /admin/v1/catalog', { quiet: true })
  const apply = useAct('PUT /admin/v1/catalog', { quiet: true, renews: RENEWS, said: t('catalog.applied') })
  const written = parsed(text)
  const failure = look.error ?? apply.error
  const busy = look.isPending || apply.isPending
  const change = (value: string): void => {
    setText(value)
    look.reset()
  }
  return (
    <Section
      title={t('catalog.document')}
      lead={t('catalog.document_lead')}
      actions={
        <Group gap="xs">
          <FileButton accept="application/json,.json" onChange={(file) => void file?.text().then(change)}>
            {(props) => (
              <Button {...props} variant="default" size="xs">
                {t('catalog.open')}
              </Button>
            )}
          </FileButton>
          <Button
            variant="default"
            size="xs"
            leftSection={<DownloadIcon size={15} />}
            onClick={() => saveFile('tollgate-catalogue.json', 'application/json', text)}
          >
            {t('catalog.save')}
          </Button>
        </Group>
      }
    >
      {busy && <Progress value={100} animated aria-label={t('common.loading')} mb="sm" />}
      {failure !== null && <Failed failure={failure} />}
      <JsonInput
        label={t('catalog.document')}
        value={text}
        onChange={change}
        autosize
        minRows={14}
        maxRows={24}
        error={written === null ? t('prices.no_json') : null}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
      />
      <Group justify="flex-end" my="md">
        <Button
          disabled={written === null}
          loading={look.isPending}
          onClick={() => written !== null && look.mutate({ query: { dry_run: '1' }, body: written })}
        >
          {t('catalog.compare')}
        </Button>
      </Group>
      {look.data !== undefined && written !== null && (
        <Difference
          change={look.data}
          apply={() => apply.mutate({ body: written })}
          busy={apply.isPending}
          concerns={({ message }) => !known.has(message)}
        />
      )}
    </Section>
  )
}

function parsed(text: string): CatalogDocument | null {
  try {
    const value: unknown = JSON.parse(text)
    // The server checks the rest, field by field.
    return value !== null && typeof value === 'object' && 'models' in value ? (value as CatalogDocument) : null
  } catch {
    return null
  }
}

import { Button, FileButton, Group, Progress } from '@mantine/core'
import { useMemo } from 'react'
import type { CatalogDocument } from '../../../../src/api/admin/catalog-contract.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { useKept } from '../../parts/kept.ts'
import { saveFile } from '../../parts/ListTools.tsx'
import { isDiscarded } from '../../parts/Dialog.tsx'
import { Failed, Loaded } from '../../parts/Loaded.tsx'
import { Section } from '../../parts/Page.tsx'
import { DownloadIcon } from '../../parts/icons.ts'
import { t } from '../../parts/words.ts'
import { OperatorPage } from './OperatorPage.tsx'
import {
  CATALOG_RENEWS,
  CatalogWarnings,
  Compared,
  Difference,
  JsonField,
  useCatalogWarnings,
} from './catalog-edit.tsx'
import { parsedObject } from './provider-draft.ts'
import { Press } from '../../parts/cells.tsx'

const RENEWS = [...CATALOG_RENEWS, 'GET /admin/v1/settings', 'GET /admin/v1/price-changes'] as const

/** The whole catalogue as one document. The page shows the changes before it applies them. */
export function CatalogPage() {
  const catalog = useRead('GET /admin/v1/catalog', {})
  const warnings = useCatalogWarnings()
  const known = new Set(warnings.map(({ message }) => message))
  return (
    <OperatorPage title={t('nav.catalog_document')} lead={t('catalog.lead')}>
      <CatalogWarnings warnings={warnings} />
      <BundledUpdate />
      <Loaded of={catalog} height={520}>
        {(document) => <Editor document={document} known={known} />}
      </Loaded>
    </OperatorPage>
  )
}

function BundledUpdate() {
  const look = useAct('POST /admin/v1/catalog/update', { quiet: true })
  const apply = useAct('POST /admin/v1/catalog/update', {
    quiet: true,
    renews: RENEWS,
    said: t('catalog.applied'),
    done: () => look.reset(),
  })
  const failure = look.error ?? apply.error
  const compare = (): void => look.mutate({ query: { dry_run: '1' }, body: {} })
  return (
    <Section
      title={t('catalog.bundled')}
      lead={t('catalog.bundled_lead')}
      actions={<Press variant="default" loading={look.isPending} onClick={compare} text={t('catalog.compare')} />}
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
  /** Texts of the warnings that the page shows already. */
  readonly known: ReadonlySet<string>
}

function Editor({ document, known }: EditorProps) {
  // What is typed stays when the catalogue is read anew, and when the reader looks at another page.
  const [typed, setText] = useKept<string | null>('catalogue', null)
  const shown = useMemo(() => JSON.stringify(document, null, 2), [document])
  const text = typed ?? shown
  const look = useAct('PUT /admin/v1/catalog', { quiet: true })
  const apply = useAct('PUT /admin/v1/catalog', {
    quiet: true,
    renews: RENEWS,
    said: t('catalog.applied'),
    done: () => setText(null),
  })
  const written = parsed(text)
  const change = (value: string | null): void => {
    setText(value)
    look.reset()
  }
  return (
    <Section
      title={t('catalog.document')}
      lead={t('catalog.document_lead')}
      actions={
        <Group gap="xs">
          {typed !== null && (
            <Press
              variant="subtle"
              size="xs"
              onClick={async () => (await isDiscarded()) && change(null)}
              text={t('catalog.discard')}
            />
          )}
          <FileButton accept="application/json,.json" onChange={(file) => void file?.text().then(change)}>
            {(props) => <Press {...props} variant="default" size="xs" text={t('catalog.open')} />}
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
      {(look.isPending || apply.isPending) && (
        <Progress value={100} animated aria-label={t('common.loading')} mb="sm" />
      )}
      <JsonField
        label={t('catalog.document')}
        value={text}
        onChange={change}
        minRows={14}
        isWrong={written === null}
        mb="md"
      />
      <Compared
        look={look}
        put={apply}
        ready={written !== null}
        compare={() => written !== null && look.mutate({ query: { dry_run: '1' }, body: written })}
        apply={() => written !== null && apply.mutate({ body: written })}
        concerns={({ message }) => !known.has(message)}
      />
    </Section>
  )
}

function parsed(text: string): CatalogDocument | null {
  const value = parsedObject(text)
  // The server checks the rest.
  return value !== null && 'models' in value ? (value as CatalogDocument) : null
}

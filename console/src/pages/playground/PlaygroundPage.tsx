import { Alert, Select, Tabs } from '@mantine/core'
import { Link, useSearch } from '@tanstack/react-router'
import { lazy, Suspense, useState, type ComponentType, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Key, ModelRow, ModelType } from '../../../../src/cabinet/contract.ts'
import { useRead } from '../../api/hooks.ts'
import { Loaded, Outline } from '../../parts/Loaded.tsx'
import { Page } from '../../parts/Page.tsx'
import css from '../../style/layout.module.css'

export interface TabProps {
  readonly keyId: string
  /** Those of the tab's kind that the account may use. */
  readonly models: readonly ModelRow[]
  readonly modelId: string
}

const TABS: Readonly<Record<ModelType, ComponentType<TabProps>>> = {
  chat: lazy(async () => ({ default: (await import('./ChatTab.tsx')).ChatTab })),
  image: lazy(async () => ({ default: (await import('./ImageTab.tsx')).ImageTab })),
  tts: lazy(async () => ({ default: (await import('./SpeechTab.tsx')).SpeechTab })),
  transcription: lazy(async () => ({ default: (await import('./TranscriptionTab.tsx')).TranscriptionTab })),
  embeddings: lazy(async () => ({ default: (await import('./EmbeddingsTab.tsx')).EmbeddingsTab })),
  rerank: lazy(async () => ({ default: (await import('./RerankTab.tsx')).RerankTab })),
  video: lazy(async () => ({ default: (await import('./VideoTab.tsx')).VideoTab })),
}
const KINDS: readonly ModelType[] = ['chat', 'image', 'tts', 'transcription', 'embeddings', 'rerank', 'video']

/** Models tried by hand, charged to a key of one's own as any request. */
export function PlaygroundPage(): ReactNode {
  const { t } = useTranslation()
  const keys = useRead('GET /cabinet/v1/keys', {})
  const models = useRead('GET /cabinet/v1/models', {})
  return (
    <Page title={t('nav.playground')} lead={t('play.lead')}>
      <Loaded of={keys} height={520}>
        {({ data }) => (
          <Loaded of={models} height={520}>
            {({ data: rows }) => <Playground keys={data.filter(({ disabled }) => !disabled)} models={rows} />}
          </Loaded>
        )}
      </Loaded>
    </Page>
  )
}

function Playground({
  keys,
  models,
}: {
  readonly keys: readonly Key[]
  readonly models: readonly ModelRow[]
}): ReactNode {
  const { t } = useTranslation()
  const { model: wished } = useSearch({ strict: false })
  const usable = models.filter(({ allowed }) => allowed)
  const [kind, setKind] = useState<ModelType>(usable.find(({ id }) => id === wished)?.type ?? 'chat')
  const [keyId, setKeyId] = useState(keys[0]?.id ?? '')
  const [chosen, setChosen] = useState<Readonly<Partial<Record<ModelType, string>>>>({})
  const ofKind = usable.filter(({ type }) => type === kind)
  const modelId =
    chosen[kind] ??
    ofKind.find(({ id }) => id === wished)?.id ??
    ofKind.find(({ id }) => id.startsWith('sandbox/'))?.id ??
    ofKind[0]?.id ??
    ''
  if (keys.length === 0)
    return (
      <Alert color="yellow" title={t('play.no_key')}>
        <Link to="/keys" search={{ create: '1' }}>
          {t('keys.create')}
        </Link>
      </Alert>
    )
  const Tab = TABS[kind]
  return (
    <Tabs
      value={kind}
      onChange={(value) => setKind(KINDS.find((known) => known === value) ?? 'chat')}
      keepMounted={false}
    >
      <Tabs.List>
        {KINDS.map((value) => (
          <Tabs.Tab key={value} value={value}>
            {t(`type.${value}`)}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel value={kind} pt="md">
        <div className={css.page}>
          <div className={css.fields}>
            <Select
              label={t('usage.model')}
              searchable
              allowDeselect={false}
              limit={80}
              value={modelId}
              onChange={(id) => id !== null && setChosen({ ...chosen, [kind]: id })}
              data={ofKind.map(({ id, name }) => ({ value: id, label: name }))}
            />
            <Select
              label={t('play.key')}
              description={t('play.key_hint')}
              allowDeselect={false}
              value={keyId}
              onChange={(id) => id !== null && setKeyId(id)}
              data={keys.map(({ id, name, label }) => ({ value: id, label: `${name} · ${label}` }))}
            />
          </div>
          {modelId === '' ? (
            <Alert color="gray">{t('play.no_model')}</Alert>
          ) : (
            <Suspense fallback={<Outline height={320} />}>
              <Tab keyId={keyId} models={ofKind} modelId={modelId} />
            </Suspense>
          )}
        </div>
      </Tabs.Panel>
    </Tabs>
  )
}

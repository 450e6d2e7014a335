import { Select, Tabs } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { Link, useSearch } from '@tanstack/react-router'
import { type ComponentType, useState } from 'react'
import type { Key } from '../../../../src/api/cabinet/key-contract.ts'
import type { ModelRow } from '../../../../src/api/cabinet/model-contract.ts'
import type { ModelType } from '../../../../src/tables/model-types.ts'
import { useRead } from '../../api/hooks.ts'
import { Empty, Loaded } from '../../parts/Loaded.tsx'
import { useFilters } from '../../parts/list-place.ts'
import { onDemand } from '../../parts/OnDemand.tsx'
import { Page } from '../../parts/Page.tsx'
import { t } from '../../parts/words.ts'
import { ModelField, type TabProps } from './run.tsx'

const TABS: Readonly<Record<ModelType, ComponentType<TabProps>>> = {
  chat: onDemand('ChatTab', () => import('./ChatTab.tsx'), 320),
  image: onDemand('ImageTab', () => import('./MediaTabs.tsx'), 320),
  tts: onDemand('SpeechTab', () => import('./MediaTabs.tsx'), 320),
  transcription: onDemand('TranscriptionTab', () => import('./MediaTabs.tsx'), 320),
  embeddings: onDemand('EmbeddingsTab', () => import('./LinesTab.tsx'), 320),
  rerank: onDemand('RerankTab', () => import('./LinesTab.tsx'), 320),
  moderation: onDemand('ModerationTab', () => import('./LinesTab.tsx'), 320),
  video: onDemand('VideoTab', () => import('./MediaTabs.tsx'), 320),
}
/** If there are more keys, the others are found by search. */
const KEYS = { enabled: 'true', limit: 50 } as const
const TYPING_MS = 250
// The keys of the table are exactly the types, in the order of the tabs.
const KINDS = Object.keys(TABS) as readonly ModelType[]

/** Models to try in the browser. Each request is charged to a key of the user, like any other. */
export function PlaygroundPage() {
  const keys = useRead('GET /cabinet/v1/keys', { query: KEYS })
  const models = useRead('GET /cabinet/v1/models', {})
  return (
    <Page title={t('nav.playground')} lead={t('play.lead')}>
      <Loaded of={keys} height={520}>
        {({ data, total }) => (
          <Loaded of={models} height={520}>
            {({ data: rows }) => (
              <Playground keys={data.filter(({ own }) => own)} hasMore={total > data.length} models={rows} />
            )}
          </Loaded>
        )}
      </Loaded>
    </Page>
  )
}

interface PlaygroundProps {
  readonly keys: readonly Key[]
  /** Whether there are keys that only a search finds. */
  readonly hasMore: boolean
  readonly models: readonly ModelRow[]
}

function Playground({ keys, hasMore, models }: PlaygroundProps) {
  const { model: wished } = useSearch({ strict: false })
  const usable = models.filter(({ allowed }) => allowed)
  const { filters, filter } = useFilters<'type'>()
  const kind = KINDS.find((known) => known === filters.type) ?? usable.find(({ id }) => id === wished)?.type ?? 'chat'
  const [keyId, setKeyId] = useState(keys[0]?.id ?? '')
  const [chosen, setChosen] = useState<Readonly<Partial<Record<ModelType, string>>>>({})
  const ofKind = usable.filter(({ type }) => type === kind)
  const modelId = chosen[kind] ?? firstModel(ofKind, wished)
  if (keys.length === 0)
    return (
      <Empty
        picture="key"
        title={t('play.no_key')}
        action={
          <Link to="/keys" search={{ create: '1' }}>
            {t('keys.create')}
          </Link>
        }
      />
    )
  const Tab = TABS[kind]
  return (
    <Tabs value={kind} onChange={(value) => filter('type', value)} keepMounted={false}>
      <Tabs.List>
        {KINDS.map((value) => (
          <Tabs.Tab key={value} value={value}>
            {t(`type.${value}`)}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel value={kind} pt="md">
        <div className="page">
          <div className="fields">
            <ModelField
              label={t('usage.model')}
              models={ofKind}
              value={modelId}
              choose={(id) => setChosen({ ...chosen, [kind]: id })}
            />
            <KeyField keys={keys} hasMore={hasMore} value={keyId} choose={setKeyId} />
          </div>
          {modelId === '' ? (
            <Empty picture="model" title={t('play.no_model')} />
          ) : (
            <Tab keyId={keyId} models={ofKind} modelId={modelId} />
          )}
        </div>
      </Tabs.Panel>
    </Tabs>
  )
}

/** The model that a tab begins with: the one in the link, or else a free one, or else any. */
function firstModel(models: readonly ModelRow[], wished: string | undefined): string {
  const found =
    models.find(({ id }) => id === wished) ?? models.find(({ id }) => id.startsWith('sandbox/')) ?? models[0]
  return found?.id ?? ''
}

interface FieldProps {
  readonly value: string
  readonly choose: (id: string) => void
}

function KeyField({ keys, hasMore, value, choose }: FieldProps & Pick<PlaygroundProps, 'keys' | 'hasMore'>) {
  const [chosen, setChosen] = useState(keys[0])
  const [typed, setTyped] = useState('')
  const [search] = useDebouncedValue(typed, TYPING_MS)
  // The name of the chosen key in the field is not a search.
  const wish = chosen !== undefined && search === nameOf(chosen) ? '' : search
  const found = useRead(
    'GET /cabinet/v1/keys',
    { query: { ...KEYS, search: wish } },
    { enabled: hasMore && wish !== '' },
  )
  const offered = found.data === undefined || wish === '' ? keys : found.data.data
  const known = offered.some(({ id }) => id === chosen?.id) || chosen === undefined ? offered : [chosen, ...offered]
  return (
    <Select
      label={t('play.key')}
      description={t('play.key_hint')}
      value={value}
      onChange={(id) => {
        if (id === null) return
        setChosen(known.find((key) => key.id === id))
        choose(id)
      }}
      searchable={hasMore}
      {...(hasMore ? { onSearchChange: setTyped } : {})}
      data={known.map((key) => ({ value: key.id, label: nameOf(key) }))}
    />
  )
}

function nameOf({ name, label }: Key): string {
  return `${name} · ${label}`
}

import { TextInput } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useFormat } from '../../parts/use-format.ts'
import { LinesTab } from './LinesTab.tsx'
import { fieldOf, listOf } from './playground-call.ts'
import type { TabProps } from './tab.ts'

/** Documents in the order in which they answer a question. */
export function RerankTab({ keyId, modelId }: TabProps): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const [query, setQuery] = useState('')
  return (
    <LinesTab
      keyId={keyId}
      path="rerank"
      label={t('type.rerank')}
      linesLabel={t('play.documents')}
      ready={query.trim() !== ''}
      bodyOf={(documents) => ({ model: modelId, query, documents })}
      rowsOf={(answer, documents) =>
        listOf(fieldOf(answer, 'results')).map((item) => ({
          line: documents[Number(fieldOf(item, 'index'))] ?? '',
          score: Number(fieldOf(item, 'relevance_score')),
        }))
      }
      columns={[
        { id: 'place', title: '№', cell: ({ index }) => index + 1 },
        { id: 'line', title: t('play.document'), cell: ({ line }) => line },
        { id: 'score', title: t('play.score'), end: true, cell: ({ score }) => format.number(score, 4) },
      ]}
    >
      <TextInput
        label={t('play.query')}
        value={query}
        onChange={({ currentTarget }) => setQuery(currentTarget.value)}
      />
    </LinesTab>
  )
}

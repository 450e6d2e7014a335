import { Stack, Textarea, TextInput } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { List } from '../../parts/List.tsx'
import { useFormat } from '../../parts/use-format.ts'
import { costOf, fieldOf, listOf, playgroundCall } from './playground-call.ts'
import { RunBar } from './RunBar.tsx'
import type { TabProps } from './tab.ts'
import { useRun } from './use-run.ts'

/** Documents in the order in which they answer a question. */
export function RerankTab({ keyId, modelId }: TabProps): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const [query, setQuery] = useState('')
  const [text, setText] = useState('')
  const run = useRun(async (signal) => {
    const documents = text.split('\n').filter((line) => line.trim() !== '')
    const answer: unknown = await (
      await playgroundCall(keyId, 'rerank', { model: modelId, query, documents }, signal)
    ).json()
    const rows = listOf(fieldOf(answer, 'results')).map((item, place) => ({
      place: place + 1,
      line: documents[Number(fieldOf(item, 'index'))] ?? '',
      score: Number(fieldOf(item, 'relevance_score')),
    }))
    return { cost: costOf(answer), rows }
  })
  return (
    <Stack>
      <TextInput
        label={t('play.query')}
        value={query}
        onChange={({ currentTarget }) => setQuery(currentTarget.value)}
      />
      <Textarea
        label={t('play.documents')}
        description={t('play.lines_hint')}
        autosize
        minRows={4}
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
      />
      <RunBar run={run} ready={query.trim() !== '' && text.trim() !== ''} cost={run.answer?.cost ?? null} />
      {run.answer !== null && (
        <List
          label={t('type.rerank')}
          rows={run.answer.rows}
          rowId={({ place }) => place}
          empty={{ title: t('play.nothing') }}
          columns={[
            { id: 'place', title: '№', cell: ({ place }) => place },
            { id: 'line', title: t('play.document'), cell: ({ line }) => line },
            { id: 'score', title: t('play.score'), end: true, cell: ({ score }) => format.number(score, 4) },
          ]}
        />
      )}
    </Stack>
  )
}

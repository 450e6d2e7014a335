import { Stack, Textarea } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { List } from '../../parts/List.tsx'
import { useFormat } from '../../parts/use-format.ts'
import { costOf, fieldOf, listOf, playgroundCall } from './playground-call.ts'
import { RunBar } from './RunBar.tsx'
import type { TabProps } from './tab.ts'
import { useRun } from './use-run.ts'

/** What a model finds in lines of text: the categories that it flags, and the highest score. */
export function ModerationTab({ keyId, modelId }: TabProps): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const [text, setText] = useState('')
  const run = useRun(async (signal) => {
    const input = text.split('\n').filter((line) => line.trim() !== '')
    const answer: unknown = await (await playgroundCall(keyId, 'moderations', { model: modelId, input }, signal)).json()
    const rows = listOf(fieldOf(answer, 'results')).map((result, index) => ({
      index,
      line: input[index] ?? '',
      flags: entriesOf(fieldOf(result, 'categories')).flatMap(([name, flagged]) => (flagged === true ? [name] : [])),
      score: Math.max(0, ...entriesOf(fieldOf(result, 'category_scores')).map(([, score]) => Number(score))),
    }))
    return { cost: costOf(answer), rows }
  })
  return (
    <Stack>
      <Textarea
        label={t('play.lines')}
        description={t('play.lines_hint')}
        autosize
        minRows={4}
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
      />
      <RunBar run={run} ready={text.trim() !== ''} cost={run.answer?.cost ?? null} />
      {run.answer !== null && (
        <List
          label={t('type.moderation')}
          rows={run.answer.rows}
          rowId={({ index }) => index}
          empty={{ title: t('play.nothing') }}
          columns={[
            { id: 'line', title: t('play.text'), cell: ({ line }) => line },
            {
              id: 'flags',
              title: t('play.flags'),
              cell: ({ flags }) => (flags.length === 0 ? t('play.no_flags') : flags.join(', ')),
            },
            { id: 'score', title: t('play.score'), end: true, cell: ({ score }) => format.number(score, 4) },
          ]}
        />
      )}
    </Stack>
  )
}

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : []
}

import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useFormat } from '../../parts/use-format.ts'
import { LinesTab } from './LinesTab.tsx'
import { fieldOf, listOf } from './playground-call.ts'
import type { TabProps } from './tab.ts'

/** What a model finds in lines of text: the categories that it flags, and the highest score. */
export function ModerationTab({ keyId, modelId }: TabProps): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  return (
    <LinesTab
      keyId={keyId}
      path="moderations"
      label={t('type.moderation')}
      bodyOf={(input) => ({ model: modelId, input })}
      rowsOf={(answer, lines) =>
        listOf(fieldOf(answer, 'results')).map((result, index) => ({
          line: lines[index] ?? '',
          flags: entriesOf(fieldOf(result, 'categories')).flatMap(([name, flagged]) =>
            flagged === true ? [name] : [],
          ),
          score: Math.max(0, ...entriesOf(fieldOf(result, 'category_scores')).map(([, score]) => Number(score))),
        }))
      }
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
  )
}

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : []
}

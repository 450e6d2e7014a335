import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import type { ListChoice } from './ListTools.tsx'
import { onDemand } from './OnDemand.tsx'
import { useFirstUse } from './first-use.ts'
import { ColumnsIcon } from './icons.ts'
import { useWords } from './words.ts'

/** A column by its name. */
export interface ViewColumn {
  readonly id: string
  readonly title: string
}

export interface ListViewProps {
  readonly sortable: readonly ViewColumn[]
  readonly hideable: readonly ViewColumn[]
  readonly choice: ListChoice
  readonly choose: (change: Partial<ListChoice>) => void
  readonly sort: string | null
  readonly setSort: (sort: string | null) => void
}

/** How the button of a list's view looks, before its first use and after. */
export const VIEW_LOOK = {
  size: 'compact-sm',
  variant: 'subtle',
  color: 'gray',
  leftSection: <ColumnsIcon size={15} />,
} as const

const OpenedListView = onDemand('OpenedListView', async () => (await import('./OpenedListView.tsx')).OpenedListView)

/** A button that opens the order of a list, its columns and the height of its rows. */
export function ListView(props: ListViewProps): ReactNode {
  const { t } = useWords()
  const { isUsed, button } = useFirstUse(OpenedListView)
  if (isUsed) return <OpenedListView {...props} />
  return (
    <Button {...VIEW_LOOK} aria-haspopup="dialog" aria-expanded={false} {...button}>
      {t('list.view')}
    </Button>
  )
}

import { useParams } from '@tanstack/react-router'
import { CopyId } from '../../parts/Copy.tsx'
import { Page } from '../../parts/Page.tsx'
import { t } from '../../parts/words.ts'
import { OwnStory } from './OwnStory.tsx'

/** One request: its attempts, its bill line by line, its hold and its times. */
export function RequestPage() {
  const { id } = useParams({ from: '/log/$id' })
  return (
    <Page title={t('request.title')} lead={<CopyId id={id} />}>
      <OwnStory id={id} />
    </Page>
  )
}

import { TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ParkedVideo } from '../../../../src/pay/videos/operator-contract.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { useCan } from '../../parts/Can.tsx'
import { Note } from '../../parts/cells.tsx'
import { ReadList } from '../../parts/DataList.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { Form, useCall } from '../../parts/Form.tsx'
import { accountAt } from '../../parts/row-link.ts'
import { format, t } from '../../parts/words.ts'
import { LogTabs } from '../log/Log.tsx'
import { OperatorPage } from './OperatorPage.tsx'

const REFRESH_MS = 10_000
const RENEWS = ['GET /admin/v1/videos/parked'] as const
const RESOLVE = 'POST /admin/v1/videos/:id/resolve'

/** Videos of which nobody knows whether the provider makes them, until an operator has looked there. */
export function ParkedVideosPage() {
  const can = useCan()(RESOLVE)
  const never = useAct(RESOLVE, { renews: RENEWS, said: t('parked.freed') })
  const [found, setFound] = useState<ParkedVideo | null>(null)
  const close = (): void => setFound(null)
  const askNever = ({ id, held }: ParkedVideo): void =>
    never.ask({
      name: 'parked-never',
      title: t('parked.ask_never'),
      text: t('parked.ask_never_text', { held: format.money(held) }),
      act: t('parked.never'),
      input: { params: { id }, body: { upstream_id: null } },
    })
  return (
    <OperatorPage title={t('parked.title')} lead={t('parked.lead')} actions={<LogTabs of="requests" at={2} />}>
      <ReadList
        of={useRead('GET /admin/v1/videos/parked', {}, { everyMs: REFRESH_MS })}
        name="parked-videos"
        label={t('parked.title')}
        empty={{ picture: 'calm', title: t('parked.none'), text: t('parked.none_text') }}
        columns={[
          { id: 'at', title: t('log.time'), as: 'moment', value: 'created_at' },
          {
            id: 'account',
            title: t('requests.account'),
            as: 'mono',
            value: 'account',
            to: ({ account }) => accountAt(account),
          },
          {
            id: 'model',
            title: t('usage.model'),
            value: 'model',
            code: ({ endpoint, provider }) => endpoint ?? provider,
          },
          { id: 'held', title: t('parked.held'), as: 'money', value: 'held' },
          { id: 'until', title: t('parked.until'), as: 'moment', value: 'expires_at' },
          { id: 'id', title: 'ID', as: 'mono', value: 'id' },
          {
            id: 'actions',
            acts: (video) => [
              can && {
                label: t('parked.found'),
                name: `${t('parked.found')}: ${video.id}`,
                run: () => setFound(video),
              },
              can && {
                label: t('parked.never'),
                name: `${t('parked.never')}: ${video.id}`,
                harmful: true,
                run: () => askNever(video),
              },
            ],
          },
        ]}
      />
      <Dialog name="parked-found" of={found} close={close} title={t('parked.found_title')}>
        {(video) => <FoundForm video={video} done={close} />}
      </Dialog>
    </OperatorPage>
  )
}

function FoundForm({
  video: { id, provider, held },
  done,
}: {
  readonly video: ParkedVideo
  readonly done: () => void
}) {
  const form = useCall(RESOLVE, {
    first: { upstream_id: '' },
    renews: RENEWS,
    said: t('parked.goes_on'),
    input: ({ upstream_id: theirs }) => ({ params: { id }, body: { upstream_id: theirs.trim() } }),
    done,
  })
  return (
    <Form of={form} form="dialog" act={t('parked.found')}>
      <TextInput
        label={t('parked.theirs', { provider: provider ?? t('log.filter_provider') })}
        required
        data-autofocus
        {...form.field('upstream_id')}
      />
      <Note>{t('parked.found_text', { held: format.money(held) })}</Note>
    </Form>
  )
}

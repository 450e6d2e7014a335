import { Textarea } from '@mantine/core'
import { useAct } from '../../api/hooks.ts'
import { Can, useCan } from '../../parts/Can.tsx'
import { ServerList } from '../../parts/DataList.tsx'
import { Form, useCall } from '../../parts/Form.tsx'
import { Section } from '../../parts/Page.tsx'
import { t } from '../../parts/words.ts'
import { useProfile } from '../../session.tsx'
import { actorText } from './EventsPage.tsx'

const RENEWS = ['GET /admin/v1/accounts/:id/notes'] as const

/** What operators write down about an account; its people never see it. */
export function AccountNotes({ account }: { readonly account: string }) {
  const can = useCan()
  const { email, operator_role: role } = useProfile()
  const remove = useAct('DELETE /admin/v1/accounts/:id/notes/:note', { renews: RENEWS, said: t('notes.removed') })
  return (
    <div className="page">
      <Can call="POST /admin/v1/accounts/:id/notes">
        <Section boxed title={t('notes.new')}>
          <NoteForm account={account} />
        </Section>
      </Can>
      <ServerList
        read="GET /admin/v1/accounts/:id/notes"
        params={{ id: account }}
        name="notes"
        label={t('notes.title')}
        empty={{ picture: 'log', title: t('notes.none'), text: t('notes.lead') }}
        columns={[
          {
            id: 'text',
            title: t('notes.text'),
            wide: true,
            value: 'text',
            cell: ({ text }) => <span style={{ whiteSpace: 'pre-wrap' }}>{text}</span>,
          },
          { id: 'author', title: t('notes.author'), value: ({ author }) => actorText(author) },
          { id: 'created_at', title: t('log.time'), as: 'moment', value: 'created_at' },
          {
            id: 'actions',
            acts: ({ id, author }) => [
              can('DELETE /admin/v1/accounts/:id/notes/:note') &&
                (author === email || role === 'owner') && {
                  label: t('common.delete'),
                  harmful: true,
                  run: () =>
                    remove.ask({
                      name: 'note-remove',
                      title: t('notes.ask_remove'),
                      text: t('notes.ask_remove_text'),
                      act: t('common.delete'),
                      input: { params: { id: account, note: id } },
                    }),
                },
            ],
          },
        ]}
      />
    </div>
  )
}

function NoteForm({ account }: { readonly account: string }) {
  const form = useCall('POST /admin/v1/accounts/:id/notes', {
    said: t('notes.added'),
    renews: RENEWS,
    done: (_note, reset) => reset(),
    first: { text: '' },
    check: { text: (text: string) => (text.trim() === '' ? t('common.required') : null) },
    input: ({ text }) => ({ params: { id: account }, body: { text: text.trim() } }),
  })
  return (
    <Form of={form} act={t('notes.add')}>
      <Textarea
        label={t('notes.text')}
        description={t('notes.lead')}
        autosize
        minRows={2}
        required
        {...form.field('text')}
      />
    </Form>
  )
}

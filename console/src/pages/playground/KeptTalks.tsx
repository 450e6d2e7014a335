import { Group } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { Note, Press } from '../../parts/cells.tsx'
import { confirm, Dialog } from '../../parts/Dialog.tsx'
import { List } from '../../parts/List.tsx'
import { t } from '../../parts/words.ts'
import { useProfile } from '../../session.tsx'
import type { Conversation, Turn } from './use-conversation.ts'

const STORED = 'tollgate-talks'
const TALKS_MAX = 20
/** Browsers give a site some five million characters. */
const CHARACTERS_MAX = 1_000_000
const TITLE_MAX = 80

/** A conversation of the playground, without its files. It is nowhere but in this browser. */
interface KeptTalk {
  readonly id: string
  readonly owner: string
  readonly at: string
  readonly model: string
  readonly turns: readonly Turn[]
}

interface Kept {
  readonly talks: readonly KeptTalk[] | null
  readonly show: (isShown: boolean) => void
  readonly open: (talk: KeptTalk) => void
  readonly remove: (id: string | null) => void
  /** The next message begins another conversation. */
  readonly begin: () => void
}

/** Keeps a conversation whenever an answer has ended. */
export function useKeptTalk({ turns, busy, open }: Conversation, model: string): Kept {
  const { email, account_id: account } = useProfile()
  const owner = `${email} ${account}`
  const id = useRef(newId())
  const [talks, setTalks] = useState<readonly KeptTalk[] | null>(null)
  const own = (): readonly KeptTalk[] => stored().filter((talk) => talk.owner === owner)
  useEffect(() => {
    if (busy || turns.length === 0) return
    const plain = turns.map((turn) => ({ ...turn, attachments: [] }))
    store([
      { id: id.current, owner, at: new Date().toISOString(), model, turns: plain },
      ...stored().filter((one) => one.id !== id.current),
    ])
  }, [owner, busy, turns, model])
  return {
    talks,
    show: (isShown) => setTalks(isShown ? own() : null),
    open: (talk) => {
      id.current = talk.id
      open(talk.turns)
      setTalks(null)
    },
    remove: (gone) => {
      store(stored().filter((talk) => talk.owner !== owner || (gone !== null && talk.id !== gone)))
      // What is on the screen is kept again only if it goes on.
      id.current = newId()
      setTalks(own())
    },
    begin: () => {
      id.current = newId()
    },
  }
}

function newId(): string {
  return String(Date.now())
}

/** The kept conversations, to open and to delete. */
export function KeptTalks({ talks, show, open, remove }: Kept) {
  return (
    <Dialog name="talks" of={talks} close={() => show(false)} size="lg" title={t('play.kept')}>
      {(shown) => (
        <>
          <Note mb="md">{t('play.kept_note', { count: TALKS_MAX })}</Note>
          <List
            label={t('play.kept')}
            rows={shown}
            empty={{ picture: 'talk', title: t('play.kept_none') }}
            columns={[
              { id: 'title', title: t('play.talk'), wide: true, value: titleOf, code: ({ model }) => model },
              { id: 'at', title: t('log.time'), as: 'moment', value: 'at' },
              {
                id: 'actions',
                acts: (talk) => [
                  { label: t('play.open'), name: `${t('play.open')}: ${titleOf(talk)}`, run: () => open(talk) },
                  {
                    label: t('common.delete'),
                    name: `${t('common.delete')}: ${titleOf(talk)}`,
                    harmful: true,
                    run: () =>
                      confirm({
                        name: 'talk-delete',
                        title: t('play.ask_delete', { title: titleOf(talk) }),
                        text: t('play.ask_delete_text'),
                        onConfirm: () => remove(talk.id),
                      }),
                  },
                ],
              },
            ]}
          />
          {shown.length > 0 && (
            <Group justify="flex-end" mt="md">
              <Press
                variant="default"
                color="red"
                onClick={() =>
                  confirm({
                    name: 'talks-delete',
                    title: t('play.ask_delete_all', { count: shown.length }),
                    text: t('play.ask_delete_text'),
                    act: t('play.delete_all'),
                    onConfirm: () => remove(null),
                  })
                }
                text={t('play.delete_all')}
              />
            </Group>
          )}
        </>
      )}
    </Dialog>
  )
}

function titleOf({ turns }: KeptTalk): string {
  const text = turns[0]?.text ?? ''
  return text.length > TITLE_MAX ? `${text.slice(0, TITLE_MAX)}…` : text
}

/** The newest first. Another release or a person may have written it. */
function stored(): readonly KeptTalk[] {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(STORED) ?? '[]')
    return Array.isArray(value) ? value.filter(isTalk) : []
  } catch {
    return []
  }
}

function isTalk(value: unknown): value is KeptTalk {
  return (
    typeof value === 'object' &&
    value !== null &&
    ['id', 'owner', 'at', 'model'].every((name) => typeof Reflect.get(value, name) === 'string') &&
    'turns' in value &&
    Array.isArray(value.turns) &&
    value.turns.every((turn: unknown) => typeof turn === 'object' && turn !== null && 'text' in turn && 'role' in turn)
  )
}

function store(talks: readonly KeptTalk[]): void {
  let room = CHARACTERS_MAX
  const kept = talks.slice(0, TALKS_MAX).filter((talk) => (room -= JSON.stringify(talk).length) >= 0)
  try {
    localStorage.setItem(STORED, JSON.stringify(kept))
  } catch {
    // Without storage a conversation ends with its page.
  }
}

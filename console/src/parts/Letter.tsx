import { SegmentedControl, Stack } from '@mantine/core'
import { useState } from 'react'
import type { Language } from '../../../src/api/cabinet/session-contract.ts'
import { useRead } from '../api/hooks.ts'
import { currentLanguage, learn } from '../i18n.ts'
import { useCan } from './Can.tsx'
import { Press } from './cells.tsx'
import { CopyBlock } from './Copy.tsx'
import { Dialog } from './Dialog.tsx'
import { tellFailure } from './Loaded.tsx'
import { inLanguage, t } from './words.ts'

interface LetterProps {
  readonly account: string
  /** Makes the text in the language that is spoken. */
  readonly text: () => string
}

/** A button for a text that an operator sends to a customer. */
export function LetterButton(letter: LetterProps) {
  const [opened, setOpened] = useState(false)
  return (
    <>
      <Press size="xs" variant="default" onClick={() => setOpened(true)} text={t('letter.open')} />
      <Dialog name="letter" of={opened} close={() => setOpened(false)} title={t('letter.open')} size="lg">
        <Letter {...letter} />
      </Dialog>
    </>
  )
}

/** The text in the language of the account's people, or in another one. */
function Letter({ account, text }: LetterProps) {
  const seesPeople = useCan()('GET /admin/v1/accounts/:id/members')
  const input = { params: { id: account } }
  const people = useRead('GET /admin/v1/accounts/:id/members', input, { enabled: seesPeople })
  const [wish, setWish] = useState<Language | null>(null)
  const [known, setKnown] = useState<readonly Language[]>([currentLanguage()])
  const language =
    wish ?? people.data?.members.find((member) => member.language !== null)?.language ?? currentLanguage()
  const isKnown = known.includes(language)
  if (!isKnown) learn(language).then(() => setKnown([...known, language]), tellFailure)
  return (
    <Stack>
      <SegmentedControl
        value={language}
        onChange={(value) => setWish(value === 'ru' ? 'ru' : 'en')}
        data={[
          { value: 'en', label: 'English' },
          { value: 'ru', label: 'Русский' },
        ]}
        aria-label={t('letter.language')}
      />
      {isKnown && (
        <div lang={language}>
          <CopyBlock wraps text={inLanguage(language, text)} label={t('letter.open')} />
        </div>
      )}
    </Stack>
  )
}

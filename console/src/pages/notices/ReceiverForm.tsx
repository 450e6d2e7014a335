import { Button, Checkbox, SegmentedControl, Select, Stack, TextInput } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { fieldFailure } from '../../parts/failure-text.ts'
import { Failed } from '../../parts/Loaded.tsx'
import css from '../../style/layout.module.css'
import { noticeText } from './notice-text.ts'
import type { MadeReceiver, Receiver, ReceiverKind, ReceiverTerms, ReceiverType, ReceiverWishes } from './receiver.ts'

const TYPES = ['email', 'telegram', 'webhook'] as const

/** What may be chosen for a receiver, and what is said about it. */
export interface ReceiverChoice {
  /** Types that the service is set up for. */
  readonly types: readonly ReceiverType[]
  readonly kinds: readonly ReceiverKind[]
  /** Beside the field of the address. */
  readonly hint: (type: ReceiverType) => string
}

/** A new receiver: where it is told, of what, and in which language. */
export function ReceiverForm({
  choice: { types: allowed, kinds: all, hint },
  add,
  done,
}: {
  readonly choice: ReceiverChoice
  readonly add: ReceiverWishes['add']
  readonly done: (made: MadeReceiver) => void
}): ReactNode {
  const { t } = useTranslation()
  const types = TYPES.filter((known) => allowed.includes(known))
  const [type, setType] = useState<ReceiverType>(types[0] ?? 'webhook')
  const [target, setTarget] = useState('')
  const [terms, setTerms] = useState<ReceiverTerms>({ language: 'en', kinds: all })
  const problem = fieldFailure(add.error, ['target'])
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        const { language, kinds } = terms
        add.run({ type, target: target.trim(), kinds, ...(type === 'webhook' ? {} : { language }) }, done)
      }}
    >
      <Stack>
        {add.error !== null && problem === null && <Failed failure={add.error} />}
        <SegmentedControl
          value={type}
          onChange={setType}
          data={types.map((value) => ({ value, label: t(`notices.${value}`) }))}
          aria-label={t('notices.type')}
        />
        <TextInput
          label={t(`notices.${type}_target`)}
          description={hint(type)}
          required
          maxLength={2_000}
          data-autofocus
          value={target}
          onChange={({ currentTarget }) => setTarget(currentTarget.value)}
          error={problem?.message}
        />
        <TermsFields type={type} terms={terms} change={setTerms} kinds={all} />
        <Button type="submit" loading={add.isPending} disabled={terms.kinds.length === 0}>
          {t('notices.add')}
        </Button>
      </Stack>
    </form>
  )
}

/** Other kinds or another language of a receiver; where it is told stays. */
export function ReceiverTermsForm({
  receiver: { id, type, ...before },
  kinds: all,
  change,
  done,
}: {
  readonly receiver: Receiver
  readonly kinds: readonly ReceiverKind[]
  readonly change: ReceiverWishes['change']
  readonly done: () => void
}): ReactNode {
  const { t } = useTranslation()
  const [terms, setTerms] = useState<ReceiverTerms>({ language: before.language, kinds: before.kinds })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        change.run({ id, patch: type === 'webhook' ? { kinds: terms.kinds } : terms }, done)
      }}
    >
      <Stack>
        <TermsFields type={type} terms={terms} change={setTerms} kinds={all} />
        <Button type="submit" ml="auto" loading={change.isPending} disabled={terms.kinds.length === 0}>
          {t('common.save')}
        </Button>
      </Stack>
    </form>
  )
}

function TermsFields({
  type,
  terms,
  change,
  kinds: all,
}: {
  readonly type: ReceiverType
  readonly terms: ReceiverTerms
  readonly change: (terms: ReceiverTerms) => void
  readonly kinds: readonly ReceiverKind[]
}): ReactNode {
  const { t } = useTranslation()
  return (
    <>
      {type !== 'webhook' && (
        <Select
          label={t('settings.language')}
          allowDeselect={false}
          value={terms.language}
          onChange={(value) => change({ ...terms, language: value === 'ru' ? 'ru' : 'en' })}
          data={[
            { value: 'en', label: 'English' },
            { value: 'ru', label: 'Русский' },
          ]}
        />
      )}
      <Checkbox.Group
        label={t('notices.kinds')}
        value={[...terms.kinds]}
        onChange={(chosen) => change({ ...terms, kinds: all.filter((kind) => chosen.includes(kind)) })}
      >
        <div className={css.fields}>
          {all.map((kind) => (
            <Checkbox key={kind} value={kind} label={noticeText(kind)} />
          ))}
        </div>
      </Checkbox.Group>
    </>
  )
}

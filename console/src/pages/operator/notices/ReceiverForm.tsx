import { Button, Checkbox, SegmentedControl, Select, Stack, TextInput } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { CHOSEN_KINDS, type NoticeKind } from '../../../../../src/notice-table.ts'
import { useAct } from '../../../api/hooks.ts'
import { Failed } from '../../../parts/Loaded.tsx'
import css from '../../../style/layout.module.css'
import { noticeText } from './notice-text.ts'

const TYPES = ['email', 'telegram', 'webhook'] as const

/** A new receiver: where it is told, of what, and in which language. */
export function ReceiverForm({
  done,
}: {
  readonly done: (made: { readonly secret: string | null }) => void
}): ReactNode {
  const { t } = useTranslation()
  const [type, setType] = useState<(typeof TYPES)[number]>('email')
  const [target, setTarget] = useState('')
  const [language, setLanguage] = useState<'en' | 'ru'>('en')
  const [kinds, setKinds] = useState<readonly NoticeKind[]>(CHOSEN_KINDS)
  const add = useAct('POST /admin/v1/notices/channels', {
    quiet: true,
    renews: ['GET /admin/v1/notices/channels'],
    done,
  })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        add.mutate({
          body: {
            type,
            target: target.trim(),
            kinds: CHOSEN_KINDS.filter((kind) => kinds.includes(kind)),
            ...(type === 'webhook' ? {} : { language }),
          },
        })
      }}
    >
      <Stack>
        {add.isError && <Failed failure={add.error} />}
        <SegmentedControl
          value={type}
          onChange={setType}
          data={TYPES.map((value) => ({ value, label: t(`notices.${value}`) }))}
          aria-label={t('notices.type')}
        />
        <TextInput
          label={t(`notices.${type}_target`)}
          description={t(`notices.${type}_hint`)}
          required
          maxLength={2_000}
          data-autofocus
          value={target}
          onChange={({ currentTarget }) => setTarget(currentTarget.value)}
        />
        {type !== 'webhook' && (
          <Select
            label={t('settings.language')}
            allowDeselect={false}
            value={language}
            onChange={(value) => setLanguage(value === 'ru' ? 'ru' : 'en')}
            data={[
              { value: 'en', label: 'English' },
              { value: 'ru', label: 'Русский' },
            ]}
          />
        )}
        <KindsField kinds={kinds} change={setKinds} />
        <Button type="submit" loading={add.isPending} disabled={kinds.length === 0}>
          {t('notices.add')}
        </Button>
      </Stack>
    </form>
  )
}

function KindsField({
  kinds,
  change,
}: {
  readonly kinds: readonly NoticeKind[]
  readonly change: (kinds: readonly NoticeKind[]) => void
}): ReactNode {
  const { t } = useTranslation()
  return (
    <Checkbox.Group
      label={t('notices.kinds')}
      value={[...kinds]}
      onChange={(chosen) => change(CHOSEN_KINDS.filter((kind) => chosen.includes(kind)))}
    >
      <div className={css.fields}>
        {CHOSEN_KINDS.map((kind) => (
          <Checkbox key={kind} value={kind} label={noticeText(kind)} />
        ))}
      </div>
    </Checkbox.Group>
  )
}

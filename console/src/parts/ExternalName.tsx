import { Button, Stack, TextInput, type TextInputProps } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useAct } from '../api/hooks.ts'
import css from '../style/layout.module.css'
import { Can } from './Can.tsx'
import { Dialog } from './Dialog.tsx'
import { Failed } from './Loaded.tsx'

const CHARS_MAX = 128

/** The name that a program gave a record, as paths take it; nothing where it has none. */
export function ExternalName({ of }: { readonly of: { readonly external_id: string | null } }): ReactNode {
  const { t } = useTranslation()
  if (of.external_id === null) return null
  return (
    <div className={css.mono} title={t('field.external_id')}>
      external:{of.external_id}
    </div>
  )
}

/** The kinds of records with a name for programs, by what changes one, and the reads that show it. */
const SHOWN_IN = {
  'PATCH /admin/v1/accounts/:id': ['GET /admin/v1/accounts', 'GET /admin/v1/accounts/:id'],
  'PATCH /admin/v1/keys/:id': ['GET /admin/v1/accounts/:id/keys'],
  'PATCH /admin/v1/tokens/:id': ['GET /admin/v1/tokens'],
  'PATCH /admin/v1/codes/:id': ['GET /admin/v1/codes'],
  'PATCH /admin/v1/users/:id': ['GET /admin/v1/users'],
} as const

interface ExternalIdButtonProps {
  readonly change: keyof typeof SHOWN_IN
  readonly of: { readonly id: string; readonly external_id: string | null }
  /** Of the record, for screen readers. */
  readonly name: string
}

/** Gives a record a name for programs, changes it or takes it away. */
export function ExternalIdButton({ change, of, name }: ExternalIdButtonProps): ReactNode {
  const { t } = useTranslation()
  const [opened, setOpened] = useState(false)
  return (
    <Can call={change}>
      <Button
        size="compact-sm"
        variant="subtle"
        aria-label={`${t('field.external_id')}: ${name}`}
        onClick={() => setOpened(true)}
      >
        {t('field.external_id')}
      </Button>
      <Dialog
        name="external-id"
        opened={opened}
        onClose={() => setOpened(false)}
        title={`${t('field.external_id')}: ${name}`}
      >
        {opened && <ExternalIdForm change={change} of={of} done={() => setOpened(false)} />}
      </Dialog>
    </Can>
  )
}

function ExternalIdForm({
  change,
  of: { id, external_id: known },
  done,
}: Omit<ExternalIdButtonProps, 'name'> & { readonly done: () => void }): ReactNode {
  const { t } = useTranslation()
  const [text, setText] = useState(known ?? '')
  // Each of these routes takes the field alike.
  const save = useAct(change as 'PATCH /admin/v1/accounts/:id', {
    quiet: true,
    said: t('common.saved'),
    renews: SHOWN_IN[change],
    done,
  })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        save.mutate({ params: { id }, body: { external_id: externalIdOf(text) } })
      }}
    >
      <Stack>
        {save.isError && <Failed failure={save.error} />}
        <ExternalIdField value={text} onChange={({ currentTarget }) => setText(currentTarget.value)} data-autofocus />
        <Button type="submit" loading={save.isPending}>
          {t('common.save')}
        </Button>
      </Stack>
    </form>
  )
}

export function ExternalIdField(props: TextInputProps): ReactNode {
  const { t } = useTranslation()
  return (
    <TextInput
      label={t('field.external_id')}
      description={t('common.external_id_hint')}
      maxLength={CHARS_MAX}
      {...props}
    />
  )
}

/** What the field says; null = the record has none. */
export function externalIdOf(text: string): string | null {
  return text.trim() === '' ? null : text.trim()
}

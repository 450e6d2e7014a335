import { Button, TextInput, type TextInputProps } from '@mantine/core'
import { useState } from 'react'
import { Can } from './Can.tsx'
import { Dialog } from './Dialog.tsx'
import { Form, useCall } from './Form.tsx'
import { t } from './words.ts'

/** The external id of a record, in the form that paths take; nothing if it has none. */
export function ExternalName({ of }: { readonly of: { readonly external_id: string | null } }) {
  if (of.external_id === null) return null
  return (
    <div className="mono" title={t('field.external_id')}>
      external:{of.external_id}
    </div>
  )
}

/** The endpoints that change a record with an external id, each with the reads that show it. */
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
  /** The name of the record, for screen readers. */
  readonly name: string
}

/** A button that sets, changes or removes the external id of a record. */
export function ExternalIdButton({ change, of, name }: ExternalIdButtonProps) {
  const [opened, setOpened] = useState(false)
  const title = `${t('field.external_id')}: ${name}`
  return (
    <Can call={change}>
      <Button size="compact-sm" variant="subtle" aria-label={title} onClick={() => setOpened(true)}>
        {t('field.external_id')}
      </Button>
      <Dialog name="external-id" of={opened} close={() => setOpened(false)} title={title}>
        <ExternalIdForm change={change} of={of} done={() => setOpened(false)} />
      </Dialog>
    </Can>
  )
}

function ExternalIdForm({
  change,
  of: { id, external_id: known },
  done,
}: Omit<ExternalIdButtonProps, 'name'> & { readonly done: () => void }) {
  // Each of these routes has this field.
  const form = useCall(change as 'PATCH /admin/v1/accounts/:id', {
    said: t('common.saved'),
    renews: SHOWN_IN[change],
    done,
    first: { external_id: known ?? '' },
    input: ({ external_id: text }) => ({ params: { id }, body: { external_id: externalIdOf(text) } }),
  })
  return (
    <Form of={form} form="dialog" act={t('common.save')}>
      <ExternalIdField data-autofocus {...form.field('external_id')} />
    </Form>
  )
}

export function ExternalIdField(props: TextInputProps) {
  return <TextInput label={t('field.external_id')} description={t('common.external_id_hint')} {...props} />
}

/** The typed id; null = the record has none. */
export function externalIdOf(text: string): string | null {
  return text.trim() === '' ? null : text.trim()
}

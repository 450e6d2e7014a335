import { Text } from '@mantine/core'
import { useState } from 'react'
import type { ProofBody } from '../../../src/base/wire-route.ts'
import type { ApiFailure } from '../api/call.ts'
import { ask } from './Dialog.tsx'
import { fieldFailure } from './failure-text.ts'
import { Form, useFields } from './Form.tsx'
import { ProofInput } from './proof.tsx'
import { t } from './words.ts'

const KINDS = ['password', 'code'] as const

/** Asks for the proof that a refusal names, and repeats the call with it. Rejects with the refusal without one. */
export function askForProof<A>(refusal: ApiFailure, again: (proof: ProofBody) => Promise<A>): Promise<A> {
  // The server lists what it needs.
  const { with: needed } = refusal.metadata['params'] as { readonly with: string }
  return new Promise((resolve, reject) => {
    const close = ask({
      name: 'proof',
      title: t('security.prove'),
      content: (
        <ProofForm
          kinds={KINDS.filter((kind) => needed.includes(kind))}
          send={async (proof) => {
            resolve(await again(proof))
            close()
          }}
          fail={(failure) => {
            reject(failure)
            close()
          }}
        />
      ),
      onClose: () => reject(refusal),
    })
  })
}

interface ProofFormProps {
  readonly kinds: readonly (typeof KINDS)[number][]
  readonly send: (proof: ProofBody) => Promise<void>
  readonly fail: (failure: Error) => void
}

function ProofForm({ kinds, send, fail }: ProofFormProps) {
  const [failed, setFailed] = useState<Error | null>(null)
  const [isPending, setPending] = useState(false)
  const form = useFields<ProofBody>({
    first: { password: '', code: '' },
    calls: [{ error: failed, isPending }],
    send: (proof) => {
      setPending(true)
      send(Object.fromEntries(kinds.map((kind) => [kind, proof[kind]]))).catch((thrown: Error) => {
        if (fieldFailure(thrown, KINDS) === null) return fail(thrown)
        setPending(false)
        setFailed(thrown)
      })
    },
  })
  return (
    <Form of={form} form="dialog" act={t('security.prove_do')}>
      <Text size="sm">{t('security.prove_text')}</Text>
      {kinds.map((kind) => (
        <ProofInput key={kind} kind={kind} {...form.field(kind)} />
      ))}
    </Form>
  )
}

import { PasswordInput, Select, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import { authFields } from 'virtual:adapters'
import type { AuthType } from '../../../../src/catalog/auth.ts'
import { t } from '../../parts/words.ts'
import { authFieldsOf, type SignIn } from './provider-draft.ts'

interface SignInFieldsProps {
  readonly signIn: SignIn
  /** The provider's adapter; `aws` is possible with one adapter only. */
  readonly adapter: string
  /** The way whose secrets are stored; null = none are. */
  readonly stored: SignIn['type'] | null
  readonly change: (signIn: SignIn) => void
  /** The fields of a key, which is the usual way. */
  readonly children: ReactNode
}

/** How the server authenticates with a provider: with a key, or with tokens that it gets itself. */
export function SignInFields({ signIn, adapter, stored, change, children }: SignInFieldsProps) {
  // The keys of the table are exactly the types.
  const types = (Object.keys(authFields) as AuthType[]).filter((type) => type !== 'aws' || adapter === 'bedrock')
  return (
    <>
      <Select
        label={t('sign_in.title')}
        data={[
          { value: 'key', label: t('sign_in.type_key') },
          ...types.map((value) => ({ value, label: t(`sign_in.type_${value}`) })),
        ]}
        value={signIn.type}
        onChange={(type) => type !== null && change({ ...signIn, type: type as SignIn['type'] })}
      />
      {signIn.type === 'key' ? (
        children
      ) : (
        <div className="fields">
          {authFieldsOf(signIn.type).map(({ name, isSecret }) => {
            const shared = {
              label: t(`sign_in.field_${name}`),
              autoComplete: 'off',
              value: signIn.fields[name] ?? '',
              onChange: ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) =>
                change({ ...signIn, fields: { ...signIn.fields, [name]: currentTarget.value } }),
            }
            return isSecret ? (
              <PasswordInput
                key={name}
                {...shared}
                description={t(stored === signIn.type ? 'sign_in.secret_stays' : 'providers.key_hint')}
              />
            ) : (
              <TextInput key={name} {...shared} />
            )
          })}
        </div>
      )}
    </>
  )
}

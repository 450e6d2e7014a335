import { Checkbox, Group, Select, TextInput } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { AdminToken } from '../../../../src/api/admin/token-contract.ts'
import { type AdminScope, type OperatorRole, ROLE_SCOPES } from '../../../../src/tables/scopes.ts'
import { given } from '../../api/endpoint.ts'
import { useAct } from '../../api/hooks.ts'
import { Can, useCan } from '../../parts/Can.tsx'
import { ServerList } from '../../parts/DataList.tsx'
import { DayField } from '../../parts/DayField.tsx'
import { AddButton, Dialog, Secret } from '../../parts/Dialog.tsx'
import { ExternalIdButton, ExternalName } from '../../parts/ExternalName.tsx'
import { Form, useCall } from '../../parts/Form.tsx'
import { Moment, type Tone, Note } from '../../parts/cells.tsx'
import { format, t } from '../../parts/words.ts'
import { endOfDay, today } from '../../parts/zoned-day.ts'
import { useProfile } from '../../session.tsx'
import { OperatorPage } from './OperatorPage.tsx'
import { areasOf, ScopeNames, useRoles } from './tokens/ScopeNames.tsx'
import css from './tokens/tokens.module.css'

const TONES: Readonly<Record<AdminToken['state'], Tone>> = { active: 'good', expired: 'quiet', revoked: 'quiet' }

interface Made {
  readonly name: string
  readonly token: string
}

/** Named tokens for programs that call the admin API. */
export function TokensPage() {
  const [making, setMaking] = useState(false)
  const [made, setMade] = useState<Made | null>(null)
  const done = (answer: Made): void => {
    setMaking(false)
    setMade(answer)
  }
  return (
    <OperatorPage
      title={t('nav.tokens')}
      lead={t('tokens.lead')}
      actions={
        <Can call="POST /admin/v1/tokens">
          <AddButton onClick={() => setMaking(true)}>{t('tokens.create')}</AddButton>
        </Can>
      }
    >
      <TokenList />
      <Dialog name="token" of={making} close={() => setMaking(false)} title={t('tokens.create')} size="lg">
        <TokenForm done={done} />
      </Dialog>
      <Dialog
        name="token-secret"
        of={made}
        close={() => setMade(null)}
        title={t('tokens.made', { name: made?.name ?? '' })}
        size="lg"
        sealed
      >
        {({ token }) => (
          <Secret
            text={token}
            label={t('tokens.token')}
            warning={t('tokens.shown_once')}
            kept={t('tokens.kept')}
            close={() => setMade(null)}
          >
            <Note>
              {t('tokens.use')} <code className="mono">Authorization: Bearer sk-tga-…</code>
            </Note>
          </Secret>
        )}
      </Dialog>
    </OperatorPage>
  )
}

function TokenList() {
  const can = useCan()
  const revoke = useAct('DELETE /admin/v1/tokens/:id', { renews: ['GET /admin/v1/tokens'], said: t('tokens.done') })
  const ask = ({ id, name }: AdminToken): void =>
    revoke.ask({
      name: 'token-revoke',
      title: t('tokens.ask_revoke', { name }),
      text: t('tokens.ask_revoke_text'),
      act: t('tokens.revoke'),
      input: { params: { id } },
    })
  return (
    <ServerList
      read="GET /admin/v1/tokens"
      small
      height={320}
      name="tokens"
      label={t('nav.tokens')}
      empty={{ picture: 'key', title: t('tokens.none'), text: t('tokens.none_text') }}
      columns={[
        {
          id: 'name',
          title: t('keys.name'),
          value: 'name',
          code: ({ label }) => label,
          under: (token) => <ExternalName of={token} />,
        },
        {
          id: 'scopes',
          title: t('tokens.may'),
          wide: true,
          value: ({ scopes }) => scopes.join(' '),
          cell: ({ scopes }) => <ScopeNames scopes={scopes} />,
        },
        {
          id: 'state',
          title: t('keys.state'),
          word: ({ state }) => [TONES[state], t(`tokens.${state}`)],
          under: ({ state, expires_at: expires }) =>
            state === 'active' &&
            expires !== null && <Moment at={expires} as="date" said={(when) => t('keys.expires', { when })} />,
        },
        { id: 'used', title: t('keys.last_used'), as: 'ago', value: 'last_used_at' },
        { id: 'made', title: t('accounts.since'), as: 'date', value: 'created_at' },
        { id: 'by', title: t('codes.by'), as: 'clip', value: 'created_by' },
        {
          id: 'actions',
          acts: (token) => [
            can('GET /admin/v1/events') && (
              <Link key="events" to="/operator/events" search={{ actor: `token:${token.name}` }}>
                {t('tokens.events')}
              </Link>
            ),
            token.state === 'active' && (
              <ExternalIdButton key="name" change="PATCH /admin/v1/tokens/:id" of={token} name={token.name} />
            ),
            token.state === 'active' &&
              can('DELETE /admin/v1/tokens/:id') && {
                label: t('tokens.revoke'),
                name: t('tokens.revoke_name', { name: token.name }),
                harmful: true,
                run: () => ask(token),
              },
          ],
        },
      ]}
    />
  )
}

const OWN = 'own'

interface TokenValues {
  readonly name: string
  readonly role: OperatorRole | typeof OWN
  readonly scopes: AdminScope[]
  readonly expires: string
}

/** A form for a new token: its name, its scopes, and its last day. */
function TokenForm({ done }: { readonly done: (made: Made) => void }) {
  const roles = useRoles()
  const first: TokenValues = { name: '', role: 'read_only', scopes: [...ROLE_SCOPES.read_only], expires: '' }
  const form = useCall('POST /admin/v1/tokens', {
    renews: ['GET /admin/v1/tokens'],
    done,
    first,
    names: { expires_at: 'expires' },
    input: ({ name, role, scopes, expires }) => ({
      body: {
        name: name.trim(),
        ...(role === OWN ? { scopes } : { role }),
        ...given({ expires_at: endOfDay(expires, format.zone)?.toISOString() }),
      },
    }),
  })
  const { name, scopes } = form.values
  const choose = (chosen: string | null): void => {
    const known = roles.find((each) => each === chosen)
    form.set(known === undefined ? { role: OWN } : { role: known, scopes: [...ROLE_SCOPES[known]] })
  }
  return (
    <Form
      of={form}
      form="dialog"
      act={t('tokens.create')}
      look={{ disabled: name.trim() === '' || scopes.length === 0 }}
    >
      <Group grow align="flex-start">
        <TextInput
          label={t('keys.name')}
          description={t('tokens.name_hint')}
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          required
          data-autofocus
          {...form.field('name')}
          onChange={({ currentTarget }) => form.set({ name: currentTarget.value.toLowerCase() })}
        />
        <DayField label={t('keys.expiry')} min={today()} {...form.field('expires')} />
      </Group>
      <Select
        label={t('tokens.may')}
        {...form.field('role')}
        onChange={choose}
        data={[
          ...roles.map((each) => ({ value: each as string, label: t(`role.${each}`) })),
          { value: OWN, label: t('tokens.own') },
        ]}
      />
      <ScopeBoxes chosen={scopes} choose={(wish) => form.set({ role: OWN, scopes: wish })} />
    </Form>
  )
}

interface ScopeBoxesProps {
  readonly chosen: readonly AdminScope[]
  readonly choose: (scopes: AdminScope[]) => void
}

/** A checkbox for each scope that the signed-in operator has. */
function ScopeBoxes({ chosen, choose }: ScopeBoxesProps) {
  const { scopes: grantable } = useProfile()
  const toggle = (scope: AdminScope): void =>
    choose(chosen.includes(scope) ? chosen.filter((each) => each !== scope) : [...chosen, scope])
  return (
    <fieldset className={css.areas}>
      <legend>{t('tokens.scopes')}</legend>
      {areasOf(grantable).map(({ area, kinds }) => (
        <div key={area} className={css.area}>
          <span>{t(`scope.${area}`)}</span>
          {kinds.map((kind) => (
            <Checkbox
              key={kind}
              size="xs"
              label={t(`tokens.${kind}`)}
              aria-label={`${t(`scope.${area}`)}: ${t(`tokens.${kind}`)}`}
              checked={chosen.includes(`${area}:${kind}` as AdminScope)}
              onChange={() => toggle(`${area}:${kind}` as AdminScope)}
            />
          ))}
        </div>
      ))}
    </fieldset>
  )
}

import { Alert, Button, Stack, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { AdminToken } from '../../../../src/api/admin/token-contract.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { Can, useCan } from '../../parts/Can.tsx'
import { confirm } from '../../parts/confirm.tsx'
import { Clip } from '../../parts/Clip.tsx'
import { CopyBlock } from '../../parts/Copy.tsx'
import { DataList, PAGE_ROWS } from '../../parts/DataList.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { PlusIcon } from '../../parts/icons.ts'
import { ExternalIdButton, ExternalName } from '../../parts/ExternalName.tsx'
import { fileAddress } from '../../parts/list-csv.ts'
import { useListPlace } from '../../parts/list-place.ts'
import { Loaded } from '../../parts/Loaded.tsx'
import { Moment } from '../../parts/Moment.tsx'
import { StatusBadge, type Tone } from '../../parts/StatusBadge.tsx'
import css from '../../style/layout.module.css'
import { OperatorPage } from './OperatorPage.tsx'
import { ScopeNames } from './tokens/ScopeNames.tsx'
import { TokenForm } from './tokens/TokenForm.tsx'

const TONES: Readonly<Record<AdminToken['state'], Tone>> = { active: 'good', expired: 'quiet', revoked: 'quiet' }

/** Named tokens for programs that call the admin API. */
export function TokensPage(): ReactNode {
  const { t } = useTranslation()
  const { offset } = useListPlace()
  const [making, setMaking] = useState(false)
  const [made, setMade] = useState<{ readonly name: string; readonly token: string } | null>(null)
  const tokens = useRead('GET /admin/v1/tokens', { query: { limit: PAGE_ROWS, offset } }, { keep: true })
  return (
    <OperatorPage
      title={t('nav.tokens')}
      lead={t('tokens.lead')}
      actions={
        <Can call="POST /admin/v1/tokens">
          <Button leftSection={<PlusIcon size={17} />} onClick={() => setMaking(true)}>
            {t('tokens.create')}
          </Button>
        </Can>
      }
    >
      <Loaded of={tokens} height={320}>
        {({ data, total }) => <Rows tokens={data} total={total} file={fileAddress('GET /admin/v1/tokens', {})} />}
      </Loaded>
      <Dialog name="token" opened={making} onClose={() => setMaking(false)} title={t('tokens.create')} size="lg">
        {making && (
          <TokenForm
            done={(answer) => {
              setMaking(false)
              setMade(answer)
            }}
          />
        )}
      </Dialog>
      <Dialog
        name="token-secret"
        opened={made !== null}
        onClose={() => setMade(null)}
        title={t('tokens.made', { name: made?.name ?? '' })}
        size="lg"
        closeOnClickOutside={false}
        closeOnEscape={false}
        withCloseButton={false}
      >
        {made !== null && (
          <Stack>
            <Alert color="yellow">{t('tokens.shown_once')}</Alert>
            <CopyBlock text={made.token} label={t('tokens.token')} />
            <Text size="sm" c="dimmed">
              {t('tokens.use')} <code className={css.mono}>Authorization: Bearer sk-tga-…</code>
            </Text>
            <Button ml="auto" onClick={() => setMade(null)}>
              {t('tokens.kept')}
            </Button>
          </Stack>
        )}
      </Dialog>
    </OperatorPage>
  )
}

interface RowsProps {
  readonly tokens: readonly AdminToken[]
  readonly total: number
  readonly file: string
}

function Rows({ tokens, total, file }: RowsProps): ReactNode {
  const { t } = useTranslation()
  return (
    <DataList
      name="tokens"
      label={t('nav.tokens')}
      rows={tokens}
      // A page that holds all of them is sorted here.
      {...(total > PAGE_ROWS ? { page: { total }, file } : {})}
      rowId={({ id }) => id}
      empty={{ picture: 'key', title: t('tokens.none'), text: t('tokens.none_text') }}
      columns={[
        {
          id: 'name',
          title: t('keys.name'),
          value: ({ name }) => name,
          cell: (token) => (
            <div>
              {token.name}
              <div className={css.mono}>{token.label}</div>
              <ExternalName of={token} />
            </div>
          ),
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
          value: ({ state }) => t(`tokens.${state}`),
          cell: (token) => <State token={token} />,
        },
        {
          id: 'used',
          title: t('keys.last_used'),
          end: true,
          value: (token) => token.last_used_at,
          cell: ({ last_used_at: used }) => (used === null ? t('keys.never') : <Moment at={used} as="ago" />),
        },
        {
          id: 'made',
          title: t('accounts.since'),
          end: true,
          value: (token) => token.created_at,
          cell: (token) => <Moment at={token.created_at} as="date" />,
        },
        {
          id: 'by',
          title: t('codes.by'),
          value: (token) => token.created_by,
          cell: (token) => <Clip text={token.created_by} />,
        },
        {
          id: 'actions',
          title: '',
          end: true,
          cell: (token) => <Acts token={token} />,
        },
      ]}
    />
  )
}

function State({ token: { state, expires_at: expires } }: { readonly token: AdminToken }): ReactNode {
  const { t } = useTranslation()
  return (
    <div>
      <StatusBadge tone={TONES[state]}>{t(`tokens.${state}`)}</StatusBadge>
      {state === 'active' && expires !== null && (
        <div className={css.small}>
          <Moment at={expires} as="date" said={(when) => t('keys.expires', { when })} />
        </div>
      )}
    </div>
  )
}

function Acts({ token }: { readonly token: AdminToken }): ReactNode {
  const { t } = useTranslation()
  const can = useCan()
  const revoke = useAct('DELETE /admin/v1/tokens/:id', {
    renews: ['GET /admin/v1/tokens'],
    said: t('tokens.done'),
  })
  const ask = ({ id, name }: AdminToken): void =>
    confirm({
      name: 'token-revoke',
      title: t('tokens.ask_revoke', { name }),
      text: t('tokens.ask_revoke_text'),
      act: t('tokens.revoke'),
      onConfirm: () => revoke.mutate({ params: { id } }),
    })
  return (
    <div className={css.acts}>
      {can('GET /admin/v1/events') && (
        <Link to="/operator/events" search={{ actor: `token:${token.name}` }}>
          {t('tokens.events')}
        </Link>
      )}
      {token.state === 'active' && (
        <ExternalIdButton change="PATCH /admin/v1/tokens/:id" of={token} name={token.name} />
      )}
      {token.state === 'active' && can('DELETE /admin/v1/tokens/:id') && (
        <Button
          size="compact-sm"
          variant="subtle"
          color="red"
          aria-label={t('tokens.revoke_name', { name: token.name })}
          onClick={() => ask(token)}
        >
          {t('tokens.revoke')}
        </Button>
      )}
    </div>
  )
}

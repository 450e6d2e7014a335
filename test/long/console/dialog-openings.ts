import type { Page } from 'playwright-core'
import type { texts } from '../../harness/console-world.ts'

type Text = ReturnType<typeof texts>

/** What the tests have made before dialogs are opened. */
export interface DialogWorld {
  readonly accountId: string
  readonly generation: string
}

/** A way to a dialog. A dialog that changes while it stands has several. */
export interface Opening {
  /** As in the source of the console. */
  readonly name: string
  /** What is seen, where the name does not say it. */
  readonly what?: string
  readonly who: 'owner' | 'member' | 'operator'
  readonly path: (world: DialogWorld) => string
  readonly open: (page: Page, t: Text) => Promise<void>
  /** It stands on phones only. */
  readonly onPhones?: true
}

type Open = Opening['open']

/** Presses the first button of the page with a name. */
const press =
  (name: string, values: Readonly<Record<string, string>> = {}): Open =>
  async (page, t) =>
    page
      .getByRole('main')
      .getByRole('button', { name: t(name, values), exact: true })
      .first()
      .click()

/** Presses a button whose name is what it does, and to what. */
const pressOf =
  (name: string, of: string): Open =>
  async (page, t) =>
    page
      .getByRole('main')
      .getByRole('button', { name: `${t(name)}: ${of}`, exact: true })
      .click()

/** Opens the menu of a row and takes an entry. */
const take =
  (of: string, entry: (t: Text) => string, menu = (t: Text): string => t('keys.actions_of', { name: of })): Open =>
  async (page, t) => {
    await page
      .getByRole('main')
      .getByRole('button', { name: menu(t), exact: true })
      .click()
    await page.getByRole('menuitem', { name: entry(t), exact: true }).click()
  }

const ofKey = (entry: string): Open => take('backend', (t) => t(entry))
const ofMember = (entry: string): Open =>
  take(
    MEMBER,
    (t) => t(entry),
    (t) => t('people.actions_of', { email: MEMBER }),
  )
const ofUser = (entry: (t: Text) => string): Open => take(OWNER, entry)

/** Opens a form, fills its first field and sends it. */
const send =
  (open: Open, field: string, value: string, button: string): Open =>
  async (page, t) => {
    await open(page, t)
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: t(field) }).fill(value)
    await dialog.getByRole('button', { name: t(button), exact: true }).click()
  }

const at = (path: string) => (): string => path

/** People and things that the openings name. */
export const OWNER = 'ann@example.com'
export const MEMBER = 'ben@example.com'
export const UNPROVEN = 'office@example.com'
const HOOK = 'https://hooks.example.com/tollgate'
export const SSO = 'ann@work.example'
/** An endpoint, and the parameter that it refused. */
export const PICKY = { provider: 'picky', model: 'picky-chat', parameter: 'logit_bias' } as const

const addReceiver = press('notices.add')
const addWebhook: Open = async (page, t) => {
  await addReceiver(page, t)
  const dialog = page.getByRole('dialog')
  await dialog
    .locator('label')
    .filter({ hasText: t('notices.webhook') })
    .click()
  await dialog.getByRole('textbox', { name: t('notices.webhook_target') }).fill(HOOK)
  await dialog.getByRole('button', { name: t('notices.add'), exact: true }).click()
}
const askForCodes: Open = async (page, t) => {
  await press('codes.create')(page, t)
  await page
    .getByRole('dialog')
    .getByRole('button', { name: t('codes.create'), exact: true })
    .click()
}
const editModel = press('common.edit')

/** Every dialog of the console. */
export const OPENINGS: readonly Opening[] = [
  { name: 'menu', who: 'owner', path: at('/settings'), onPhones: true, open: openMenu },
  { name: 'find', who: 'owner', path: at('/security'), open: (page) => page.keyboard.press('Control+k') },
  { name: 'key', who: 'owner', path: at('/keys'), open: press('keys.create') },
  {
    name: 'discard',
    who: 'owner',
    path: at('/keys'),
    open: async (page, t) => {
      await press('keys.create')(page, t)
      await page.getByRole('dialog').getByRole('textbox').first().fill('unsaved')
      await page.keyboard.press('Escape')
    },
  },
  { name: 'key', what: 'one that is there', who: 'owner', path: at('/keys'), open: ofKey('common.edit') },
  {
    name: 'key-secret',
    who: 'owner',
    path: at('/keys'),
    open: send(press('keys.create'), 'keys.name', 'shown once', 'keys.create'),
  },
  { name: 'key-rotate', who: 'owner', path: at('/keys'), open: ofKey('keys.rotate') },
  { name: 'key-use', who: 'owner', path: at('/keys'), open: ofKey('keys.use_with') },
  { name: 'key-delete', who: 'owner', path: at('/keys'), open: ofKey('common.delete') },
  { name: 'management-key', who: 'owner', path: at('/keys'), open: press('keys.management_create') },
  {
    name: 'management-key',
    what: 'its secret',
    who: 'owner',
    path: at('/keys'),
    open: async (page, t) => {
      await send(press('keys.management_create'), 'keys.name', 'shown once', 'keys.management_create')(page, t)
      await page
        .getByRole('dialog')
        .getByRole('region', { name: t('keys.key') })
        .waitFor()
    },
  },
  {
    name: 'proof',
    who: 'owner',
    path: at('/keys'),
    open: async (page, t) => {
      // As the server answers a sign-in that is too old.
      const metadata = { error_type: 'access_denied', reason: 'proof_needed', params: { with: 'password, code' } }
      const json = { error: { code: 403, message: 'This needs a proof', metadata } }
      await page.route('**/cabinet/v1/management-keys', async (route) =>
        route.request().method() === 'POST' ? route.fulfill({ status: 403, json }) : route.fallback(),
      )
      await send(press('keys.management_create'), 'keys.name', 'shown once', 'keys.management_create')(page, t)
      await page.locator('[data-dialog="proof"]').getByRole('textbox').first().waitFor()
    },
  },
  {
    name: 'management-key-delete',
    who: 'owner',
    path: at('/keys'),
    open: press('keys.management_delete', { name: 'deploy' }),
  },
  { name: 'call', who: 'owner', path: at('/playground'), open: press('play.call') },
  { name: 'comparison', who: 'owner', path: at('/models?query=sandbox'), open: compareModels },
  { name: 'talks', who: 'owner', path: at('/playground'), open: press('play.kept') },
  { name: 'receiver', who: 'owner', path: at('/notices'), open: addReceiver },
  {
    name: 'receiver-code',
    who: 'owner',
    path: at('/notices'),
    open: press('notices.confirm_of', { target: UNPROVEN }),
  },
  { name: 'receiver-terms', who: 'owner', path: at('/notices'), open: pressOf('common.edit', UNPROVEN) },
  { name: 'receiver-delete', who: 'owner', path: at('/notices'), open: pressOf('common.delete', UNPROVEN) },
  { name: 'invitation', who: 'owner', path: at('/people'), open: press('people.invite') },
  {
    name: 'invitation',
    what: 'its link',
    who: 'owner',
    path: at('/people'),
    open: async (page, t) => {
      await press('people.invite')(page, t)
      await page
        .getByRole('dialog')
        .getByRole('button', { name: t('people.make_link') })
        .click()
      await page
        .getByRole('dialog')
        .getByRole('region', { name: t('people.link') })
        .waitFor()
    },
  },
  {
    name: 'invitation-revoke',
    who: 'owner',
    path: at('/people'),
    open: async (page, t) =>
      page
        .getByRole('main')
        .getByRole('button', { name: new RegExp(t('people.revoke_of', { email: '.*' })) })
        .first()
        .click(),
  },
  { name: 'member', who: 'owner', path: at('/people'), open: ofMember('people.change') },
  { name: 'member-remove', who: 'owner', path: at('/people'), open: ofMember('people.remove') },
  { name: 'sessions-end', who: 'owner', path: at('/security'), open: press('security.revoke_others') },
  { name: 'session-end', who: 'owner', path: at('/security'), open: press('security.end') },
  ...(['talk-delete', 'talks-delete'] as const).map((name): Opening => ({
    name,
    who: 'owner',
    path: at('/playground'),
    open: async (page, t) => {
      await keepTalk(page)
      await press('play.kept')(page, t)
      const buttons = page.locator('[data-dialog=talks]').getByRole('dialog').getByRole('button')
      await buttons
        .filter({ hasText: t(name === 'talk-delete' ? 'common.delete' : 'play.delete_all') })
        .first()
        .click()
    },
  })),
  { name: 'identity', who: 'owner', path: at('/security'), open: press('security.oidc_remove') },
  { name: 'leave', who: 'member', path: at('/people'), open: press('people.leave') },

  { name: 'account', who: 'operator', path: at('/operator/accounts'), open: press('accounts.create') },
  {
    name: 'external-id',
    who: 'operator',
    path: ofAccount(''),
    open: async (page, t) =>
      page
        .getByRole('main')
        .getByRole('button', { name: new RegExp(`^${t('field.external_id')}: `) })
        .first()
        .click(),
  },
  { name: 'account-state', who: 'operator', path: ofAccount(''), open: press('accounts.do_locked') },
  {
    name: 'account-state',
    what: 'deactivated',
    who: 'operator',
    path: ofAccount(''),
    open: press('accounts.do_deactivated'),
  },
  {
    name: 'entry',
    who: 'operator',
    path: ofAccount('?tab=money'),
    open: async (page, t) => {
      await page.getByLabel(t('money.amount')).first().fill('5')
      await page.getByLabel(t('ledger.reason')).first().fill('a gift')
      await press('accounts.do_topup')(page, t)
    },
  },
  {
    name: 'note-remove',
    who: 'operator',
    path: ofAccount('?tab=notes'),
    open: async (page, t) => {
      await page.getByRole('textbox', { name: t('notes.text') }).fill('Pays by invoice')
      await press('notes.add')(page, t)
      await page
        .getByRole('table')
        .getByRole('button', { name: t('common.delete') })
        .first()
        .click()
    },
  },
  { name: 'receiver', who: 'operator', path: ofAccount('?tab=alerts'), open: addReceiver },
  { name: 'block-lift', who: 'operator', path: at('/operator/ip-blocks'), open: press('blocks.lift') },
  { name: 'codes', who: 'operator', path: at('/operator/codes'), open: press('codes.create') },
  { name: 'codes-ask', who: 'operator', path: at('/operator/codes'), open: askForCodes },
  {
    name: 'codes',
    what: 'what was made',
    who: 'operator',
    path: at('/operator/codes'),
    open: async (page, t) => {
      await askForCodes(page, t)
      const asked = page.locator('[data-dialog=codes-ask]')
      await asked.getByRole('button', { name: t('codes.create'), exact: true }).click()
      await asked.getByRole('dialog').waitFor({ state: 'detached' })
      await page.getByRole('dialog').getByRole('region').waitFor()
    },
  },
  { name: 'token', who: 'operator', path: at('/operator/tokens'), open: press('tokens.create') },
  {
    name: 'token-secret',
    who: 'operator',
    path: at('/operator/tokens'),
    open: async (page, t) => {
      const taken = await page.getByRole('main').getByRole('row').count()
      await send(press('tokens.create'), 'keys.name', `shown-once-${taken}`, 'tokens.create')(page, t)
    },
  },
  {
    name: 'token-revoke',
    who: 'operator',
    path: at('/operator/tokens'),
    open: press('tokens.revoke_name', { name: 'reports' }),
  },
  { name: 'receiver', who: 'operator', path: at('/operator/notices'), open: addReceiver },
  { name: 'receiver-secret', who: 'operator', path: at('/operator/notices'), open: addWebhook },
  { name: 'group', who: 'operator', path: at('/operator/customer-prices'), open: press('customers.add_group') },
  {
    name: 'group-delete',
    who: 'operator',
    path: at('/operator/customer-prices'),
    open: pressOf('common.delete', 'Partners'),
  },
  { name: 'provider', who: 'operator', path: at('/operator/providers'), open: press('common.edit') },
  { name: 'provider-delete', who: 'operator', path: at('/operator/providers'), open: press('common.delete') },
  { name: 'held', who: 'operator', path: at('/operator/held'), open: press('held.approve_all') },
  { name: 'coming-prices', who: 'operator', path: at('/operator/prices'), open: press('coming.change') },
  { name: 'coming-withdraw', who: 'operator', path: at('/operator/prices'), open: press('coming.withdraw') },
  ...(['parked-found', 'parked-never'] as const).map((name): Opening => ({
    name,
    who: 'operator',
    path: at('/operator/videos'),
    open: async (page, t) =>
      page
        .getByRole('main')
        .getByRole('button', { name: new RegExp(`^${t(name === 'parked-found' ? 'parked.found' : 'parked.never')}: `) })
        .click(),
  })),
  { name: 'model', who: 'operator', path: at('/operator/prices'), open: press('prices.add') },
  {
    name: 'model',
    what: 'one that is there',
    who: 'operator',
    path: at('/operator/prices?query=sandbox'),
    open: editModel,
  },
  {
    name: 'model',
    what: 'what is saved',
    who: 'operator',
    path: at('/operator/prices?query=sandbox'),
    open: async (page, t) => {
      await editModel(page, t)
      const dialog = page.getByRole('dialog')
      await dialog
        .getByRole('textbox', { name: t('keys.name') })
        .first()
        .fill('Another name')
      await dialog.getByRole('button', { name: t('catalog.compare') }).click()
      await dialog.getByRole('region', { name: t('catalog.difference') }).waitFor()
    },
  },
  {
    name: 'model-delete',
    who: 'operator',
    path: at('/operator/prices?query=sandbox'),
    open: async (page, t) => {
      await editModel(page, t)
      await page
        .getByRole('dialog')
        .getByRole('button', { name: t('common.delete'), exact: true })
        .click()
    },
  },
  {
    name: 'drop-field',
    who: 'operator',
    path: at('/operator/health'),
    open: press('health.drop', { parameter: PICKY.parameter, endpoint: `${PICKY.provider}/${PICKY.model}` }),
  },
  { name: 'maintenance', who: 'operator', path: at('/operator/settings'), open: press('service.maintenance_on') },
  { name: 'event', who: 'operator', path: at('/operator/events'), open: press('events.change') },
  {
    name: 'user-link',
    who: 'operator',
    path: at('/operator/users'),
    open: ofUser((t) => t('users.password_link')),
  },
  {
    name: 'user-role',
    who: 'operator',
    path: at('/operator/users'),
    open: ofUser((t) => t('users.make', { role: t('role.support') })),
  },
  {
    name: 'user-unlink',
    who: 'operator',
    path: at('/operator/users'),
    open: ofUser((t) => t('users.unlink', { who: SSO })),
  },
  {
    name: 'request',
    who: 'operator',
    path: ({ generation }) => `/operator/requests?request=${generation}`,
    open: async () => undefined,
  },
  ...(['letter', 'credit'] as const).map((name): Opening => ({
    name,
    who: 'operator',
    path: ({ generation }) => `/operator/requests?request=${generation}`,
    open: async (page, t) =>
      page
        .getByRole('dialog')
        .getByRole('button', { name: t(`${name}.open`) })
        .click(),
  })),
]

function ofAccount(search: string): Opening['path'] {
  return ({ accountId }) => `/operator/accounts/${accountId}${search}`
}

/** Puts a conversation of the one who is signed in into the browser. */
async function keepTalk(page: Page): Promise<void> {
  await page.evaluate(`fetch('/cabinet/v1/session').then((answer) => answer.json()).then(({ profile }) => {
    const owner = profile.email + ' ' + profile.account_id
    const turns = [{ role: 'user', text: 'Hello' }]
    const talk = { id: '1', owner, at: new Date().toISOString(), model: 'sandbox/chat', turns }
    localStorage.setItem('tollgate-talks', JSON.stringify([talk]))
  })`)
}

async function openMenu(page: Page, t: Text): Promise<void> {
  await page.getByRole('button', { name: t('shell.menu') }).click()
}

async function compareModels(page: Page): Promise<void> {
  const boxes = page.locator('main tbody').getByRole('checkbox')
  await boxes.nth(0).check()
  await boxes.nth(1).check()
  await page.locator('main').getByRole('button', { name: /2/ }).first().click()
}

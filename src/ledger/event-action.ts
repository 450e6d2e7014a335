/** Everything that the audit log tells of: the pages have a text for each. */
export const EVENT_ACTIONS = [
  'account.create', 'account.update', 'administrator.create', 'administrator.setup', 'catalog.apply', 'catalog.put', 'catalog.update', 'code.create',
  'code.redeem', 'code.update', 'ip_block.delete', 'kek.rotate', 'key.create', 'key.delete', 'key.update', 'ledger.adjustment', 'ledger.refund',
  'ledger.topup', 'model.create', 'model.delete', 'model.update', 'notification.unknown', 'payment.create', 'payment.different', 'payment.given_up',
  'payment.paid', 'payment.refund', 'payment.refund_short', 'payment.unknown', 'provider.create', 'provider.delete', 'provider.reconcile', 'provider.update',
  'rates.failed', 'rates.mended', 'rates.refused', 'refund.unknown', 'session.revoke', 'session.revoke_others', 'settings.update', 'sign_in', 'sign_in.failed',
  'sign_out', 'totp.disable', 'totp.enable', 'totp.recovery_codes', 'usage.flagged', 'usage.shortfall', 'user.oidc_link', 'user.oidc_unlink',
  'user.password', 'user.password_link', 'user.sign_up', 'user.update', 'video.resolve',
] as const
export type EventAction = (typeof EVENT_ACTIONS)[number]

/** Who acts where it is no person and no payment provider: their name is shown as it is. */
export const EVENT_ACTORS = ['token', 'start', 'system', 'cbr', 'cli', 'unknown'] as const
export type EventActor = (typeof EVENT_ACTORS)[number]

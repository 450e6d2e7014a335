/** Fields that are sent to no provider: they name an account, have a separate price, or are a callback. */
export const WITHHELD = ['labels', 'store', 'serviceTier', 'webhookConfig', 'modelArmorConfig'] as const
/** The same in `generationConfig`: they choose another model than the paid one. */
export const WITHHELD_CONFIG = ['routingConfig', 'modelConfig', 'modelSelectionConfig'] as const

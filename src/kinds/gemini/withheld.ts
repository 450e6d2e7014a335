/** Members that no provider is sent: they name an account, have a price of their own, or are a call back. */
export const WITHHELD = ['labels', 'store', 'serviceTier', 'webhookConfig', 'modelArmorConfig'] as const
/** The same of `generationConfig`: they choose another model than the one that is paid for. */
export const WITHHELD_CONFIG = ['routingConfig', 'modelConfig', 'modelSelectionConfig'] as const

import type { ModelRow } from '../../../../src/api/cabinet/model-contract.ts'

/** What the playground gives to each of its tabs. */
export interface TabProps {
  readonly keyId: string
  /** The models of the tab's type that the account may use. */
  readonly models: readonly ModelRow[]
  readonly modelId: string
}

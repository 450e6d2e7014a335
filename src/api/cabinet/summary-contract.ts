import { AccountLimit } from '../records/account-limit-contract.ts'
import { Key } from './key-contract.ts'
import { DaySums, SpendSums } from './log-contract.ts'
import { Money } from './money-contract.ts'
import { flag, list, nullable, object, text, whole, type Static } from '../../base/schema.ts'

export const Summary = object({
  money: Money,
  account_limit: nullable(AccountLimit, 'The limit that the operator has set for all keys together; null = none.'),
  today: SpendSums,
  last_7_days: SpendSums,
  last_30_days: SpendSums,
  days: list(DaySums, '30 days, the last is today; days without requests are there with zeros.'),
  top_models: list(object({ ...SpendSums.fields, model: text() }), 'Of the last 30 days, at most 5, by cost.'),
  keys_near_limit: list(Key, 'Keys that have used 80 % of their limit or more, or whose expiry is within 7 days.'),
  keys: whole(),
  has_requests: flag('The first-request guide is shown while there was none.'),
  example_model: nullable(text("For the snippets: the account's default model, else a cheap chat model that is on.")),
})
export type Summary = Static<typeof Summary>

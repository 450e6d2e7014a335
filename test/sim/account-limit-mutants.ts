import { CORE, LIMITS, type Mutant } from './mutant.ts'

/** Bugs of the limit that all keys of an account have together. */
export const ACCOUNT_LIMIT_MUTANTS: readonly Mutant[] = [
  {
    name: 'the limit of an account is not looked at',
    file: LIMITS,
    find: 'if (ofKey !== null || account.limitMicro === null) return ofKey',
    replace: 'return ofKey\n',
  },
  {
    name: 'a charge does not count in the limit of its account',
    file: CORE,
    find: '    countSpent(account, hold.periods, chargedMicro, this.#rows.spends)\n',
    replace: '',
  },
  {
    name: 'the limit of an account forgets what its other keys hold',
    file: LIMITS,
    find: 'account.limitMicro - accountSpent(account, periods, spends) - account.heldMicro',
    replace: 'account.limitMicro - accountSpent(account, periods, spends)',
  },
  {
    name: 'an overrun or an allowance takes what the limit of the account does not leave',
    file: LIMITS,
    find: '(ofKey ?? ofAccount) : least(ofKey, ofAccount)',
    replace: 'ofKey : ofKey',
  },
  {
    name: 'a late charge counts in the newest period of its account',
    file: LIMITS,
    find: 'if (limitStart(period) === account.limitStart) account.limitSpentMicro = spentMicro',
    replace: 'account.limitSpentMicro = spentMicro',
  },
  {
    name: 'a lowered limit of an account records no overrun',
    file: 'src/store/accounts/account-store.ts',
    find: 'overMicro > 0n ?',
    replace: 'overMicro < -1_000_000_000_000n ?',
  },
  {
    name: 'a new limit of an account counts from nothing',
    file: 'src/store/accounts/account-store.ts',
    find: "sum === undefined ? 0n : big(sum, 'spent')",
    replace: "sum === undefined ? 0n : big(sum, 'spent') * 0n",
  },
]

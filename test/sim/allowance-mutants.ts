import { ALLOWANCES, CORE, JOURNAL, LEDGER, type Mutant } from './mutant.ts'

/** Bugs of money that nodes have set aside for requests to come. */
export const ALLOWANCE_MUTANTS: readonly Mutant[] = [
  {
    name: 'an allowance that is over goes on to cover',
    file: CORE,
    find: "allowance !== undefined && allowance.state === 'open' && allowance.amountMicro >= placed.amountMicro",
    replace: 'allowance !== undefined && allowance.amountMicro >= placed.amountMicro',
  },
  {
    name: 'an allowance is filled up however little is left',
    file: CORE,
    find: 'if (freeMicro + allowance.amountMicro >= BigInt(draw.nodes) * wholeMicro) {',
    replace: 'if (freeMicro + allowance.amountMicro > 0n) {',
  },
  {
    name: 'an allowance does not count in the limits',
    file: CORE,
    find: 'limitRoom(account, key, periods, this.#rows.spends) ?? account.availableMicro)',
    replace: 'account.availableMicro)',
  },
  {
    name: 'the allowance of a closed key stays open',
    file: CORE,
    find: 'account.exactHolds || refusal(account, key, atMs) !== null',
    replace: 'account.exactHolds',
  },
  {
    name: 'an account whose holds the database decides gets an allowance',
    file: CORE,
    find: 'isRefused || account.exactHolds ? null',
    replace: 'isRefused ? null',
  },
  {
    name: 'the allowance of an account whose holds the database decides is filled up',
    file: CORE,
    find: 'const isClosed = freeMicro < 0n || account.exactHolds || ',
    replace: 'const isClosed = freeMicro < 0n || ',
  },
  {
    name: 'a hold is drawn from an allowance and paid out of it twice',
    file: CORE,
    find: '      allowance.amountMicro -= hold.amountMicro\n',
    replace: '',
  },
  {
    name: 'a node that stood still goes on drawing',
    file: ALLOWANCES,
    find: 'nowMs - allowance.confirmedMs > FRESH_MS || ',
    replace: '',
  },
  {
    name: 'more is drawn than there is',
    file: ALLOWANCES,
    find: 'if (allowance.drawnMicro + hold.amountMicro > allowance.amountMicro) return false',
    replace: 'if (hold.amountMicro > allowance.amountMicro) return false',
  },
  {
    name: 'what is drawn is given back',
    file: ALLOWANCES,
    find: 'keepMicro: drawnMicro,',
    replace: 'keepMicro: 0n * drawnMicro,',
  },
  {
    name: 'leases of allowances are not renewed',
    file: LEDGER,
    find: '...this.#own.ids]',
    replace: '...this.#own.ids.slice(0, 0)]',
  },
  {
    name: 'an idle allowance is kept',
    file: ALLOWANCES,
    find: 'allowance.over || nowMs - allowance.drawnAtMs > WINDOW_MS',
    replace: 'allowance.over',
  },
  {
    name: 'the journal loses a hold that was only in memory',
    file: JOURNAL,
    find: '...(draw === undefined ? {} : { draw: drawPayload(draw) }),',
    replace: '',
  },
]

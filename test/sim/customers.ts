import { createHash } from 'node:crypto'
import { FREE_HOUR_MICRO } from '../../src/ledger/free-hour.ts'
import type { LimitReset } from '../../src/ledger/ledger-store.ts'
import { AccountStore, type AccountPatch } from '../../src/store/accounts/account-store.ts'
import { KeyStore } from '../../src/store/accounts/key-store.ts'
import { WordStore } from '../../src/store/search/word-store.ts'
import { sealEmpty, sealedSelect } from '../../src/store/audit/book-seal.ts'
import { sharedDatabase, SIM_SEAL } from './sim-stores.ts'
import type { World } from './world.ts'

const ACCOUNTS = 2
/** An allowance is a small part of what there is. */
const ALLOWED_TIMES = [4, 12, 100] as const
const RESETS: readonly (LimitReset | null)[] = [null, 'daily', 'weekly', 'monthly']

export interface Customer {
  readonly accountId: string
  readonly keyId: string
}

/** Accounts with two keys each, and their future payments; poor if the universe is about that. */
export async function createCustomers(world: World): Promise<void> {
  const { random, disk, beginMs } = world
  const database = sharedDatabase(disk)
  const accounts = new AccountStore(database, SIM_SEAL, new WordStore(database))
  await database.transaction((sql) => sealEmpty(sql, SIM_SEAL))
  const keys = new KeyStore(database, SIM_SEAL, new WordStore(database))
  for (let index = 0; index < ACCOUNTS; index += 1) {
    const accountId = `acc_${index}`
    await accounts.create({
      id: accountId,
      name: 'sim',
      email: null,
      defaultModel: null,
      rateLimit: null,
      createdAtMs: beginMs,
      ...(world.accountLimits ? drawLimit(world) : {}),
    })
    if (world.guards && index > 0) useUpFreeHour(world, accountId)
    world.pay({
      accountId,
      kind: 'topup',
      amountMicro: BigInt(
        100 +
          random.below(world.aboutLeases || random.chance(0.5) ? 4_000 : 60_000) *
            (world.allowances ? random.pick(ALLOWED_TIMES) : 1),
      ),
    })
    for (const [number, limitReset] of [null, random.pick(RESETS)].entries()) {
      const keyId = `key_${index}${number}`
      const digest = createHash('sha256').update(keyId).digest()
      const limitMost = (world.aboutLimits ? 2_500 : 9_000) * (world.allowances ? random.pick(ALLOWED_TIMES) : 1)
      const limitMicro = number === 0 && !world.aboutLimits ? null : BigInt(random.below(limitMost))
      await keys.create({
        id: keyId,
        accountId,
        name: 'sim',
        label: 'sim',
        digest,
        limitMicro,
        limitReset,
        expiresAtMs: null,
        allowedModels: null,
        createdAtMs: beginMs,
      })
      world.customers.push({ accountId, keyId })
    }
  }
}

/** What the keys of an account may spend together: less than each alone, sometimes. */
function drawLimit({ random, aboutLimits, allowances }: World): Pick<AccountPatch, 'limitMicro' | 'limitReset'> {
  const most = (aboutLimits ? 3_000 : 9_000) * (allowances ? random.pick(ALLOWED_TIMES) : 1)
  return { limitMicro: BigInt(random.below(most)), limitReset: random.pick(RESETS) }
}

/** The operator changes the limit of an account, or takes it off; if the store fails, it stays. */
export async function changeAccountLimit(world: World): Promise<void> {
  const node = world.liveNode()
  if (node === null || node.link.out) return
  const { accountId } = world.random.pick(world.customers)
  const patch = world.random.chance(0.2) ? { limitMicro: null, limitReset: null } : drawLimit(world)
  world.trace(`${accountId}: limit becomes ${patch.limitMicro} ${patch.limitReset}`)
  const accounts = new AccountStore(node.database, SIM_SEAL, new WordStore(node.database))
  await accounts.update(accountId, patch, world.periodsNow(node)).catch(() => null)
}

/** The loss by a guarded account before the universe. */
export const USED_UP_MICRO = FREE_HOUR_MICRO + 1n

export function usedUpHourMs(beginMs: number): number {
  return Math.floor((beginMs + 10_000) / 3_600_000) * 3_600_000
}

/** Its insured cost exceeds the free amount in the hour in which most of the universe lies. */
function useUpFreeHour({ disk, beginMs, guarded }: World, accountId: string): void {
  const hourMs = usedUpHourMs(beginMs)
  const insuredMicro = USED_UP_MICRO
  disk.run('UPDATE account SET free_hour = ?, free_insured = ? WHERE id = ?', [BigInt(hourMs), insuredMicro, accountId])
  const [row = {}] = disk.all(`SELECT ${sealedSelect('account')} FROM account WHERE id = ?`, [accountId])
  disk.run('UPDATE account SET seal = ? WHERE id = ?', [SIM_SEAL.ofRow('account', row), accountId])
  guarded.add(accountId)
}
